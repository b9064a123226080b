//! Values against the reference's, through every output that the binding hands out.

mod support;

use support::{Golden, data, largest, largest_difference, lay, texts};
use uform::*;

/// Ids, states and embeddings of a folder, as `tests/engine_goldens.cpp` compares them.
fn compare(name: &str) -> Result<()> {
    let (golden, texts) = (Golden::open(name), texts(&format!("{name}/texts.jsonl")));
    let model = Model::load(data(name))?;
    let mut arena = Arena::new()?;
    let (bytes, offsets) = lay(&texts);
    let tape = TapeView::of(&bytes, &offsets)?;
    let both = Outputs::EMBEDDINGS | Outputs::STATES;
    let encoded = model.text_encode(&tape, both, Scalar::F32, &mut arena)?;
    assert_eq!((encoded.texts(), encoded.outputs()), (texts.len(), both));
    assert_eq!(encoded.truncated_tokens, golden.integers("cut"));
    assert!(encoded.truncated_tokens.iter().any(|&count| count != 0));
    assert_eq!(encoded.token_ids.unwrap(), golden.integers("ids"));

    let embeddings = encoded.embeddings.unwrap();
    assert_eq!((embeddings.shape(), embeddings.scalar()), ([texts.len(), model.dimensions()], Scalar::F32));
    let theirs = golden.floats("embeddings");
    let mark = if model.normalizes() { 2e-6 } else { 1e-5 * largest(&theirs) };
    let values = embeddings.values::<f32>()?;
    assert!(largest_difference(values, &theirs) <= mark);
    for (i, row) in embeddings.iter::<f32>()?.enumerate() {
        assert_eq!(row, embeddings.row::<f32>(i)?);
        assert!(largest_difference(row, &theirs[i * row.len()..][..row.len()]) <= mark);
    }
    let mut copy = vec![0f32; values.len()];
    embeddings.copy_to(&mut copy)?;
    assert_eq!(copy, values);

    let states = encoded.states.unwrap();
    assert_eq!(states.offsets(), golden.integers("offsets"));
    assert_eq!((states.len(), states.flat().columns()), (texts.len(), model.hidden_size()));
    let theirs = golden.floats("states");
    let mut rest = theirs.as_slice();
    for (i, of_a_text) in states.iter().enumerate() {
        assert_eq!(of_a_text.rows(), (states.offsets()[i + 1] - states.offsets()[i]) as usize);
        let values = of_a_text.values::<f32>()?;
        assert_eq!(values, states.at(i)?.values::<f32>()?);
        assert!(largest_difference(values, &rest[..values.len()]) <= 1e-5 * largest(&theirs));
        rest = &rest[values.len()..];
    }
    assert!(rest.is_empty());
    assert!(
        states.iter().rev().map(|rows| rows.rows()).eq(states
            .iter()
            .map(|rows| rows.rows())
            .collect::<Vec<_>>()
            .into_iter()
            .rev())
    );
    assert_eq!(states.iter().nth(3).unwrap().as_ptr(), states.at(3)?.as_ptr());
    assert_eq!(states.iter().len(), states.len());
    Ok(())
}

#[test]
fn tiny() -> Result<()> {
    compare("tiny")
}

#[test]
fn tiny_cased() -> Result<()> {
    compare("tiny-cased")
}

/// The texts that the folders of tests/data/outputs share.
fn shared(name: &str) -> Vec<String> {
    texts(&format!("outputs/{name}")).into_iter().map(|text| String::from_utf8(text).unwrap()).collect()
}

#[test]
fn classes_of_texts() -> Result<()> {
    let golden = Golden::open("outputs/bert-classifier");
    let (model, mut arena) = (Model::load(data("outputs/bert-classifier"))?, Arena::new()?);
    assert!(!model.labels().is_empty());
    let texts = shared("texts.jsonl");
    let encoded = model.text_classify(&texts, Scalar::F32, &mut arena)?;
    let probabilities = encoded.probabilities.unwrap();
    assert_eq!(probabilities.shape(), [texts.len(), model.labels().len()]);
    assert!(largest_difference(probabilities.values()?, &golden.floats("texts.probabilities")) <= 2e-6);

    let options = ClassifyOptions { activation: Activation::None, ..Default::default() };
    let encoded = model.on_calling_thread().text_classify_with(&texts, Scalar::F32, &mut arena, &options)?;
    let scores = golden.floats("texts.logits");
    assert!(largest_difference(encoded.probabilities.unwrap().values()?, &scores) <= 1e-5 * largest(&scores));
    Ok(())
}

#[test]
fn classes_of_tokens() -> Result<()> {
    let golden = Golden::open("outputs/bert-tokens");
    let (model, mut arena) = (Model::load(data("outputs/bert-tokens"))?, Arena::new()?);
    let encoded = model.text_classify(&shared("texts.jsonl"), Scalar::F32, &mut arena)?;
    assert!(encoded.probabilities.is_none() && encoded.states.is_none());
    let probabilities = encoded.token_probabilities.unwrap();
    assert_eq!(probabilities.offsets(), golden.integers("texts.offsets"));
    assert_eq!(encoded.token_ids.unwrap(), golden.integers("texts.ids"));
    assert!(largest_difference(probabilities.flat().values()?, &golden.floats("texts.probabilities")) <= 2e-6);
    Ok(())
}

#[test]
fn token_vectors() -> Result<()> {
    let golden = Golden::open("outputs/colbert-pylate");
    let (model, mut arena) = (Model::load(data("outputs/colbert-pylate"))?, Arena::new()?);
    for (role, kind) in [(Role::Query, "queries"), (Role::Document, "documents")] {
        let options = EncodeOptions { role, ..Default::default() };
        let texts = shared(&format!("{kind}.jsonl"));
        let verbs = model.on_calling_thread();
        let encoded = verbs.text_encode_with(&texts, Outputs::TOKEN_VECTORS, Scalar::F32, &mut arena, &options)?;
        let vectors = encoded.token_vectors.unwrap();
        assert_eq!(vectors.offsets(), golden.integers(&format!("{kind}.vector_offsets")));
        let theirs = golden.floats(&format!("{kind}.vectors"));
        assert!(largest_difference(vectors.flat().values()?, &theirs) <= 2e-6);
    }
    Ok(())
}

#[test]
fn sparse_weights() -> Result<()> {
    let golden = Golden::open("outputs/splade-bert");
    let (model, mut arena) = (Model::load(data("outputs/splade-bert"))?, Arena::new()?);
    let encoded = model.text_encode(&shared("texts.jsonl"), Outputs::SPARSE, Scalar::F32, &mut arena)?;
    let (ids, weights) = (encoded.sparse_ids.unwrap(), encoded.sparse_weights.unwrap());
    assert_eq!(ids.flat().scalar(), Scalar::U32);
    assert!(ids.offsets() == golden.integers("sparse.offsets") && weights.offsets() == ids.offsets());
    assert_eq!(ids.flat().values::<u32>()?, golden.integers("sparse.ids"));
    let theirs = golden.floats("sparse.weights");
    assert!(largest_difference(weights.flat().values()?, &theirs) <= 1e-5 * largest(&theirs));
    Ok(())
}

#[test]
fn narrow_scalars_are_the_floats_rounded() -> Result<()> {
    let (model, mut arena) = (Model::load(data("tiny"))?, Arena::new()?);
    let texts = ["the model", "The search of a vector.", "a"];
    let mut encode = |scalar| model.text_encode(&texts, Outputs::EMBEDDINGS, scalar, &mut arena).unwrap().pin();
    let floats = {
        let pinned = encode(Scalar::F32)?;
        pinned.encoded().embeddings.unwrap().values::<f32>()?.to_vec()
    };
    {
        let pinned = encode(Scalar::F16)?;
        let rows = pinned.encoded().embeddings.unwrap();
        for (half, float) in rows.values::<F16>()?.iter().zip(&floats) {
            assert!((half.to_f32() - float).abs() <= float.abs() / 2048.0 + 3e-8, "{half:?} of {float}");
        }
    }
    {
        let pinned = encode(Scalar::Bf16)?;
        let rows = pinned.encoded().embeddings.unwrap();
        for (half, float) in rows.values::<Bf16>()?.iter().zip(&floats) {
            assert!((half.to_f32() - float).abs() <= float.abs() / 256.0, "{half:?} of {float}");
        }
    }
    {
        let pinned = encode(Scalar::I8)?;
        let rows = pinned.encoded().embeddings.unwrap();
        for (byte, float) in rows.values::<i8>()?.iter().zip(&floats) {
            assert!((f32::from(*byte) - float * 127.0).abs() <= 0.5 + 1e-4, "{byte} of {float}");
        }
    }
    let pinned = encode(Scalar::B1)?;
    let rows = pinned.encoded().embeddings.unwrap();
    assert_eq!((rows.columns(), rows.row_stride_bytes()), (48, 6));
    assert_eq!(rows.values::<B1x8>()?.len(), 18);
    for (row, floats) in rows.iter::<B1x8>()?.zip(floats.chunks_exact(48)) {
        assert!(floats.iter().enumerate().all(|(i, &float)| row[i / 8].get(i % 8) == (float > 0.0)));
    }
    Ok(())
}

#[test]
fn a_tokenizer_alone() -> Result<()> {
    let golden = Golden::open("tiny");
    let (ids, offsets) = (golden.integers("ids"), golden.integers("offsets"));
    let tokenizer = Model::load(data("tiny"))?.tokenizer()?; // which outlives the model
    let mut compared = 0;
    for (i, text) in texts("tiny/texts.jsonl").into_iter().enumerate() {
        let (Ok(text), 0) = (String::from_utf8(text), golden.integers("cut")[i]) else { continue };
        let theirs = &ids[offsets[i] as usize..offsets[i + 1] as usize];
        assert_eq!(tokenizer.encode(&text)?, theirs);
        assert_eq!(tokenizer.count(&text)?, theirs.len());
        compared += 1;
    }
    assert!(compared > 20);
    assert_eq!(tokenizer.special_tokens()?, 2);
    assert_eq!(tokenizer.encode("")?.len(), 2);
    let first = tokenizer.encode("")?[0];
    assert_eq!(tokenizer.token(first).as_deref(), Some("[CLS]"));
    assert_eq!(tokenizer.id("[CLS]"), Some(first));
    assert_eq!((tokenizer.id("no such token"), tokenizer.token(u32::MAX)), (None, None));
    assert!(tokenizer.vocabulary_size()? > 300);
    assert_eq!(tokenizer.decode(&tokenizer.encode("the model")?, false)?, "[CLS] the model [SEP]");
    assert_eq!(tokenizer.decode(&[], true)?, "");
    assert_eq!(Tokenizer::load("no/such/folder").unwrap_err(), Status::Io);
    // More tokens than bytes: the normaliser takes one letter apart into several.
    let long = "\u{FDFA}".repeat(50);
    assert_eq!(tokenizer.encode(&long)?.len(), tokenizer.count(&long)?);
    Ok(())
}
