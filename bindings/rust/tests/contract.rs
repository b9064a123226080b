//! The arena's contract, as far as a program that compiles can meet it.

mod support;

use std::future::Future;
use std::mem::forget;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use support::{Unpark, block_on, data};
use uform::*;

const EMBEDDINGS: Outputs = Outputs::EMBEDDINGS;
const F32: Scalar = Scalar::F32;

fn parts() -> Result<(Executor, Model, Arena)> {
    let executor = Executor::for_ram(1)?;
    let arena = Arena::new_in(&executor)?;
    Ok((executor, Model::load(data("tiny"))?, arena))
}

/// The embedding of one text, alone: what every other way to it must give bit by bit.
fn embedding(model: &Model, text: &str) -> Vec<f32> {
    let mut arena = Arena::new().unwrap();
    let encoded = model.text_encode(&[text], EMBEDDINGS, F32, &mut arena).unwrap();
    encoded.embeddings.unwrap().values().unwrap().to_vec()
}

#[test]
fn descriptions() -> Result<()> {
    let host = ArenaDescription { residency: Residency::Ram, device: None };
    assert_eq!(Arena::new()?.describe()?, host);
    let executor = Executor::for_ram(2)?;
    assert_eq!((executor.describe()?, executor.threads()?), (host, 2));
    let arena = Arena::new_in(&executor)?;
    drop(executor); // host pages outlive it
    assert_eq!(arena.describe()?, host);
    assert_eq!(format!("{arena:?}"), "Arena { residency: Ram, device: None, .. }");
    assert_eq!(arena.capacity()?, 0);
    Ok(())
}

#[test]
fn a_device_is_there_or_refused_with_its_reason() -> Result<()> {
    match Executor::for_vram(0) {
        Err(error) => {
            assert_eq!(error, Status::Unsupported);
            assert!(!error.message().is_empty());
        }
        Ok(executor) => {
            let model = Model::load(data("tiny"))?;
            let mut arena = Arena::new_in(&executor)?;
            let description = ArenaDescription { residency: Residency::Vram, device: Some(0) };
            assert_eq!((executor.describe()?, arena.describe()?), (description, description));
            let refused = |result: Result<Encoded<'_>>| result.unwrap_err().status();
            assert_eq!(
                refused(model.on(&executor).text_encode(&["a"], EMBEDDINGS, F32, &mut arena)),
                Status::Unsupported
            );
            assert_eq!(refused(model.text_encode(&["a"], EMBEDDINGS, F32, &mut arena)), Status::InvalidArgument);
            let mut host = Arena::new()?;
            assert_eq!(
                refused(model.on(&executor).text_encode(&["a"], EMBEDDINGS, F32, &mut host)),
                Status::InvalidArgument
            );
            drop(executor);
            assert_eq!(arena.describe()?, description); // the arena keeps its device
        }
    }
    assert_eq!(Executor::for_vram(u32::MAX).unwrap_err(), Status::Unsupported);
    Ok(())
}

#[test]
fn strings_of_many_kinds_are_one_batch() -> Result<()> {
    let (executor, model, mut arena) = parts()?;
    let verbs = model.on(&executor);
    let theirs = [embedding(&model, "a"), embedding(&model, "the model")].concat();
    let owned: Vec<String> = vec!["a".into(), "the model".into()];
    let borrowed: [&str; 2] = ["a", "the model"];
    let slice: &[&str] = &borrowed;
    let tape: Tape = borrowed.iter().collect();
    let view = TapeView::of(b"athe model", &[0, 1, 10])?;
    let mut check = |texts: &dyn Fn(&mut Arena) -> Vec<f32>| assert_eq!(texts(&mut arena), theirs);
    fn values<T: Texts + ?Sized>(verbs: &BoundModel<'_>, texts: &T, arena: &mut Arena) -> Vec<f32> {
        let encoded = verbs.text_encode(texts, EMBEDDINGS, F32, arena).unwrap();
        encoded.embeddings.unwrap().values().unwrap().to_vec()
    }
    check(&|arena| values(&verbs, &owned, arena));
    check(&|arena| values(&verbs, &borrowed, arena));
    check(&|arena| values(&verbs, slice, arena));
    check(&|arena| values(&verbs, &slice, arena));
    check(&|arena| values(&verbs, &tape, arena));
    check(&|arena| values(&verbs, &view, arena));
    check(&|arena| [values(&verbs, "a", arena), values(&verbs, &String::from("the model"), arena)].concat());
    check(&|arena| values(&verbs, &["x", "a", "the model"][1..], arena));

    let none: [&str; 0] = [];
    let encoded = verbs.text_encode(&none, EMBEDDINGS | Outputs::STATES, F32, &mut arena)?;
    let embeddings = encoded.embeddings.unwrap();
    assert_eq!((embeddings.shape(), embeddings.values::<f32>()?), ([0, 48], &[] as &[f32]));
    assert_eq!(embeddings.iter::<f32>()?.len(), 0);
    let states = encoded.states.unwrap();
    assert!(states.is_empty() && states.iter().next().is_none());
    assert_eq!((states.offsets(), encoded.truncated_tokens.len()), (&[0u32] as &[u32], 0));
    assert!(embeddings.is_empty() && (states.texts(), states.rows(), states.columns()) == (0, 0, 48));
    let encoded = verbs.text_encode(&["a", "b"], EMBEDDINGS | Outputs::STATES, Scalar::F16, &mut arena)?;
    let (embeddings, states) = (encoded.embeddings.unwrap(), encoded.states.unwrap());
    assert!(!embeddings.is_empty() && !states.is_empty());
    // The same words: items, rows, columns and scalar; of texts both have one item each here.
    assert_eq!((embeddings.len(), embeddings.rows()), (2, 2));
    assert_eq!((states.len(), states.texts(), states.rows()), (2, 2, states.flat().rows()));
    assert_eq!((states.columns(), states.scalar()), (48, embeddings.scalar()));
    assert_eq!(states.rows(), states.iter().map(|of_a_text| of_a_text.len()).sum::<usize>());
    Ok(())
}

#[test]
fn nothing_is_copied() -> Result<()> {
    let (_, model, mut arena) = parts()?;
    let encoded = model.text_encode(&["a", "the model"], EMBEDDINGS | Outputs::STATES, F32, &mut arena)?;
    let rows = encoded.embeddings.unwrap();
    assert_eq!(rows.values::<f32>()?.as_ptr().cast(), rows.as_ptr());
    assert_eq!(rows.row::<f32>(1)?.as_ptr(), rows.values::<f32>()?[48..].as_ptr());
    assert_eq!(rows.iter::<f32>()?.next().unwrap().as_ptr().cast(), rows.as_ptr());
    let copy = encoded; // the view, not the rows
    assert_eq!(copy.embeddings.unwrap().as_ptr(), rows.as_ptr());
    let pinned = encoded.pin()?;
    assert_eq!(pinned.encoded().embeddings.unwrap().as_ptr(), rows.as_ptr());
    let states = encoded.states.unwrap();
    let second = states.flat().values::<f32>()?[48 * states.offsets()[1] as usize..].as_ptr();
    assert_eq!(states.at(1)?.as_ptr(), second.cast());
    drop(pinned);
    let storage = {
        let pinned = model.text_encode(&["a", "the model"], EMBEDDINGS, F32, &mut arena)?.pin()?;
        let before = pinned.encoded().embeddings.unwrap().as_ptr();
        let storage = arena.detach()?;
        assert_eq!(pinned.encoded().embeddings.unwrap().as_ptr(), before);
        assert_eq!(pinned.encoded().embeddings.unwrap().values::<f32>()?[..48], embedding(&model, "a"));
        storage
    };
    assert!(storage.capacity()? > 0 && storage.describe()?.residency == Residency::Ram);
    Ok(())
}

#[test]
fn every_misuse_has_its_status_and_a_text() -> Result<()> {
    let (executor, model, mut arena) = parts()?;
    let verbs = model.on(&executor);
    let refused = |result: Result<Encoded<'_>>, status: Status, part: &str| {
        let error = result.unwrap_err();
        assert_eq!(error, status, "{error}");
        assert!(error.message().contains(part), "{error:?} doesn't name {part}");
    };
    let texts = ["a"];
    refused(verbs.text_encode(&texts, Outputs::empty(), F32, &mut arena), Status::InvalidArgument, "output");
    refused(verbs.text_encode(&texts, Outputs::from_bits(64), F32, &mut arena), Status::InvalidArgument, "output");
    refused(verbs.text_encode(&texts, Outputs::SPARSE, F32, &mut arena), Status::Unsupported, "sparse");
    refused(verbs.text_encode(&texts, EMBEDDINGS, Scalar::U32, &mut arena), Status::Unsupported, "u32");
    refused(verbs.text_encode(&texts, EMBEDDINGS, Scalar::Unknown(99), &mut arena), Status::InvalidArgument, "99");
    refused(verbs.text_classify(&texts, F32, &mut arena), Status::Unsupported, "");
    refused(verbs.text_rerank("a", &texts, F32, &mut arena), Status::Unsupported, "");
    let options = |options: EncodeOptions<'static>| options;
    for (options, part) in [
        (options(EncodeOptions { dimensions: Some(0), ..Default::default() }), "options.dimensions"),
        (options(EncodeOptions { dimensions: Some(49), ..Default::default() }), "dimensions"),
        (options(EncodeOptions { tokens_per_call: Some(0), ..Default::default() }), "options.tokens_per_call"),
        (options(EncodeOptions { prompt: Some("nothing"), ..Default::default() }), "nothing"),
    ] {
        let result = verbs.text_encode_with(&texts, EMBEDDINGS, F32, &mut arena, &options);
        refused(result, Status::InvalidArgument, part);
    }
    let long = "time ".repeat(500);
    let refuse = EncodeOptions { truncate: Truncate::Refuse, ..Default::default() };
    refused(verbs.text_encode_with(&[&long], EMBEDDINGS, F32, &mut arena, &refuse), Status::InvalidArgument, "text 0");
    let pairs = Model::load(data("outputs/bert-reranker"))?;
    refused(pairs.text_rerank(&["a", "b"], &["c", "d", "e"], F32, &mut arena), Status::InvalidArgument, "");

    let alone = model.on_calling_thread().deferred().text_encode(&texts, EMBEDDINGS, F32, &mut arena);
    assert!(alone.unwrap_err().message().contains("executor"));
    for (folder, status) in
        [("no/such/folder", Status::Io), ("", Status::InvalidArgument), ("a\0b", Status::InvalidArgument)]
    {
        assert_eq!(Model::load(folder).unwrap_err(), status);
        assert_eq!(Tokenizer::load(folder).unwrap_err(), status);
    }
    let f16 = LoadOptions { compute: Scalar::F16, ..Default::default() };
    assert_eq!(Model::load_with(data("tiny"), &f16).unwrap_err(), Status::Unsupported);
    let unknown = LoadOptions { instruction_set: InstructionSet::Unknown(9), ..Default::default() };
    assert_eq!(Model::load_with(data("tiny"), &unknown).unwrap_err(), Status::InvalidArgument);
    assert_eq!(Executor::for_ram(usize::MAX).unwrap_err(), Status::OutOfMemory);

    let encoded = verbs.text_encode(&texts, EMBEDDINGS | Outputs::STATES, F32, &mut arena)?;
    let rows = encoded.embeddings.unwrap();
    let error = rows.values::<u8>().unwrap_err();
    assert!(error == Status::InvalidArgument && error.message().contains("f32") && error.message().contains("u8"));
    assert!(rows.row::<f32>(1).unwrap_err().message().contains("row 1 of 1"));
    assert!(rows.copy_to(&mut [0f32; 47]).unwrap_err().message().contains("188 bytes of 192"));
    assert!(encoded.states.unwrap().at(1).unwrap_err().message().contains("text 1 of 1"));
    assert!(encoded.states.unwrap().at(usize::MAX).is_err() && encoded.states.unwrap().get(usize::MAX).is_none());
    Ok(())
}

#[test]
fn limits_and_levers() -> Result<()> {
    let (_, model, mut arena) = parts()?;
    assert_eq!(arena.limit()?, None);
    arena.set_limit(Some(8))?;
    assert_eq!(arena.limit()?, Some(8));
    assert_eq!(model.text_encode(&["a"], EMBEDDINGS, F32, &mut arena).unwrap_err(), Status::OutOfMemory);
    assert_eq!(arena.reserve(1 << 20).unwrap_err(), Status::OutOfMemory);
    arena.set_limit(None)?;
    arena.reserve(1 << 20)?;
    let reserved = arena.capacity()?;
    assert!(reserved >= 1 << 20);
    model.text_encode(&["a"], EMBEDDINGS, F32, &mut arena)?;
    assert_eq!(arena.capacity()?, reserved);
    arena.trim()?;
    assert!(arena.capacity()? < reserved);
    Ok(())
}

#[test]
fn pinned_results_hold_their_arena() -> Result<()> {
    let (executor, model, mut arena) = parts()?;
    let (first, second) = (embedding(&model, "a"), embedding(&model, "the model"));
    let pinned = model.text_encode(&["a"], EMBEDDINGS, F32, &mut arena)?.pin()?;
    assert_eq!(model.text_encode(&["the model"], EMBEDDINGS, F32, &mut arena).unwrap_err(), Status::Contended);
    let deferred = model.on(&executor).deferred();
    assert_eq!(deferred.text_encode(&["the model"], EMBEDDINGS, F32, &mut arena).unwrap_err(), Status::Contended);
    // Elsewhere, too.
    let read = |pinned: &Pinned| pinned.encoded().embeddings.unwrap().values::<f32>().map(<[f32]>::to_vec);
    let pinned = thread::spawn(move || read(&pinned).map(|values| (pinned, values))).join().unwrap()?;
    assert_eq!(pinned.1, first);
    let again = pinned.0.encoded().pin()?;
    drop(pinned);
    assert_eq!(model.text_encode(&["the model"], EMBEDDINGS, F32, &mut arena).unwrap_err(), Status::Contended);
    drop(again);
    let encoded = model.text_encode(&["the model"], EMBEDDINGS, F32, &mut arena)?;
    assert_eq!(encoded.embeddings.unwrap().values::<f32>()?, second);
    // After the arena's end the bytes stay, and nothing else.
    let pinned = encoded.pin()?;
    drop(arena);
    let rows = pinned.encoded().embeddings.unwrap();
    assert_eq!(rows.values::<f32>().unwrap_err(), Status::InvalidArgument);
    assert!(!rows.as_ptr().is_null() && pinned.encoded().truncated_tokens == [0]);
    assert_eq!(pinned.encoded().pin().unwrap_err(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn a_pin_holds_what_is_of_its_call_alone() -> Result<()> {
    let (_, model, mut arena) = parts()?;
    let mut other = Arena::new()?;
    let mut mixed = model.text_encode(&["a"], EMBEDDINGS | Outputs::STATES, F32, &mut arena)?;
    let theirs = model.text_encode(&["b"], EMBEDDINGS | Outputs::STATES, F32, &mut other)?;
    let mine = mixed;
    mixed.embeddings = theirs.embeddings;
    assert_eq!(mixed.pin().unwrap_err(), Status::InvalidArgument);
    mixed = mine;
    mixed.states = theirs.states;
    assert_eq!(mixed.pin().unwrap_err(), Status::InvalidArgument);
    mixed = mine;
    let counts = [7, 8];
    (mixed.truncated_tokens, mixed.token_ids) = (&counts, None);
    let pinned = mixed.pin()?;
    assert_eq!(pinned.encoded().truncated_tokens, [0]);
    assert_eq!(pinned.encoded().token_ids, mine.token_ids);
    Ok(())
}

#[test]
fn as_many_pins_as_there_may_be() -> Result<()> {
    let (_, model, mut arena) = parts()?;
    let encoded = model.text_encode(&["a"], EMBEDDINGS, F32, &mut arena)?;
    let pins: Vec<Pinned> = (0..4094).map(|_| encoded.pin().unwrap()).collect();
    assert_eq!(encoded.pin().unwrap_err(), Status::Contended);
    drop(pins);
    drop(encoded.pin()?);
    Ok(())
}

#[test]
fn threads_share_a_model_and_not_an_arena() -> Result<()> {
    let (executor, model, _) = parts()?;
    let theirs = embedding(&model, "the model");
    thread::scope(|scope| {
        for i in 0..4 {
            let (model, executor, theirs) = (&model, &executor, &theirs);
            scope.spawn(move || {
                let mut arena = Arena::new().unwrap();
                for _ in 0..20 {
                    let verbs = if i % 2 == 0 { model.on(executor) } else { model.on_calling_thread() };
                    let encoded = verbs.text_encode(&["a", "the model"], EMBEDDINGS, F32, &mut arena).unwrap();
                    assert_eq!(encoded.embeddings.unwrap().row::<f32>(1).unwrap(), theirs);
                }
            });
        }
    });
    Ok(())
}

#[test]
fn deferred_calls_each_with_an_arena() -> Result<()> {
    let (executor, model, _) = parts()?;
    let texts = ["a", "the model", "The search of a vector.", "people work"];
    let mut arenas: Vec<Arena> = texts.iter().map(|_| Arena::new_in(&executor)).collect::<Result<_>>()?;
    let deferred = model.on(&executor).deferred();
    let mut calls = Vec::new();
    for (text, arena) in texts.iter().zip(&mut arenas) {
        let batch = vec![text.to_string()];
        calls.push(deferred.text_encode(&batch, EMBEDDINGS, F32, arena)?);
        drop(batch); // consumed
    }
    drop(executor); // the calls hold it
    for (text, call) in texts.iter().zip(calls) {
        assert!(call.wait_for(Duration::from_secs(3600)) && call.ready());
        assert!(!call.cancel(), "it ran");
        assert_eq!(call.wait()?.embeddings.unwrap().values::<f32>()?, embedding(&model, text));
    }
    // Each verb has its own.
    let executor = Executor::for_ram(2)?;
    let classifier = Model::load(data("outputs/bert-classifier"))?;
    let on = classifier.on(&executor);
    let [one, two, ..] = &mut arenas[..] else { unreachable!() };
    let now = on.text_classify(&texts, F32, one)?;
    let then = on.deferred().text_classify(&texts, F32, two)?.wait()?;
    assert_eq!(now.probabilities.unwrap().values::<f32>()?, then.probabilities.unwrap().values::<f32>()?);
    let now = on.text_classify_pairs("a", &texts, F32, one)?;
    let then = on.deferred().text_classify_pairs("a", &texts, F32, two)?.wait()?;
    assert_eq!(now.probabilities.unwrap().values::<f32>()?, then.probabilities.unwrap().values::<f32>()?);
    let reranker = Model::load(data("outputs/bert-reranker"))?;
    let on = reranker.on(&executor);
    let now = on.text_rerank("a", &texts, F32, one)?;
    let then = on.deferred().text_rerank("a", &texts, F32, two)?.wait()?;
    assert_eq!(now.probabilities.unwrap().values::<f32>()?, then.probabilities.unwrap().values::<f32>()?);
    Ok(())
}

/// A waker that holds up the thread which calls it, if it isn't the one that made it, until it is let go.
struct HoldUp {
    maker: ThreadId,
    is_held: AtomicBool,
    release: Mutex<Receiver<()>>,
    told: Mutex<Sender<()>>,
}

impl Wake for HoldUp {
    fn wake(self: Arc<Self>) {
        if thread::current().id() != self.maker && !self.is_held.swap(true, Ordering::SeqCst) {
            self.told.lock().unwrap().send(()).unwrap();
            // Where a check within fails, its calls are waited for before anybody lets go: so not for ever.
            let _ = self.release.lock().unwrap().recv_timeout(Duration::from_secs(20));
        }
    }
}

/// Holds up the executor's own thread while `within` runs, so that calls stay in its queue.
fn while_held_up(executor: &Executor, model: &Model, within: impl FnOnce()) {
    let (release, held) = mpsc::channel();
    let (told, is_told) = mpsc::channel();
    let hold_up = Arc::new(HoldUp {
        maker: thread::current().id(),
        is_held: false.into(),
        release: held.into(),
        told: told.into(),
    });
    let waker = Waker::from(hold_up);
    let long = vec!["time ".repeat(200); 50];
    let mut arena = Arena::new().unwrap();
    loop {
        let mut call = model.on(executor).deferred().text_encode(&long, EMBEDDINGS, F32, &mut arena).unwrap();
        // A call that is done before it is asked holds nobody up: another one then.
        if Pin::new(&mut call).poll(&mut Context::from_waker(&waker)).is_pending() {
            is_told.recv().unwrap();
            within();
            release.send(()).unwrap();
            return;
        }
    }
}

#[test]
fn calls_in_the_queue_are_taken_back() -> Result<()> {
    let (executor, model, mut arena) = parts()?;
    while_held_up(&executor, &model, || {
        let call = model.on(&executor).deferred().text_encode(&["a"], EMBEDDINGS, F32, &mut arena).unwrap();
        assert!(!call.ready() && !call.wait_for(Duration::from_millis(1)));
        assert!(call.cancel());
        assert_eq!(call.wait().unwrap_err(), Status::Cancelled);
        // The arena is as it was, and free.
        assert_eq!(arena.capacity().unwrap(), 0);
        model.text_encode(&["a"], EMBEDDINGS, F32, &mut arena).unwrap();
    });
    Ok(())
}

#[test]
fn a_flag_stops_calls_from_another_thread() -> Result<()> {
    let (executor, model, mut arena) = parts()?;
    let stop = Cancellation::new()?;
    let options = EncodeOptions { cancellation: Some(&stop), ..Default::default() };
    let verbs = model.on(&executor);
    let other = stop.clone();
    thread::spawn(move || other.request()).join().unwrap();
    assert_eq!(verbs.text_encode_with(&["a"], EMBEDDINGS, F32, &mut arena, &options).unwrap_err(), Status::Cancelled);
    let classify = ClassifyOptions { cancellation: Some(&stop), ..Default::default() };
    let classifier = Model::load(data("outputs/bert-classifier"))?;
    let refused = classifier.on(&executor).text_classify_with(&["a"], F32, &mut arena, &classify);
    assert_eq!(refused.unwrap_err(), Status::Cancelled);
    stop.reset();
    verbs.text_encode_with(&["a"], EMBEDDINGS, F32, &mut arena, &options)?;
    let mut call = None;
    while_held_up(&executor, &model, || {
        call = Some(verbs.deferred().text_encode_with(&["a"], EMBEDDINGS, F32, &mut arena, &options).unwrap());
        stop.request();
    });
    assert_eq!(call.unwrap().wait().unwrap_err(), Status::Cancelled); // it began, and found the flag
    Ok(())
}

#[test]
fn a_leaked_call_dangles_nothing() -> Result<()> {
    let (executor, model, mut arena) = parts()?;
    let stop = Cancellation::new()?;
    let options = EncodeOptions { cancellation: Some(&stop), ..Default::default() };
    let long = vec!["time ".repeat(200); 50];
    forget(model.on(&executor).deferred().text_encode_with(&long, EMBEDDINGS, F32, &mut arena, &options)?);
    drop((long, stop));
    // The borrow is back while the call may still write: the arena answers for itself, then and for ever.
    for _ in 0..2 {
        assert_eq!(model.text_encode(&["a"], EMBEDDINGS, F32, &mut arena).unwrap_err(), Status::Contended);
        let deferred = model.on(&executor).deferred().text_encode(&["a"], EMBEDDINGS, F32, &mut arena);
        assert_eq!(deferred.unwrap_err(), Status::Contended);
        // The executor serves others: when this one is done, the leaked one is.
        let mut other = Arena::new()?;
        model.on(&executor).deferred().text_encode(&["a"], EMBEDDINGS, F32, &mut other)?.wait()?;
    }
    drop((model, executor));
    arena.detach()?; // with the leaked pin
    drop(arena);
    Ok(())
}

#[test]
fn dropping_the_arena_waits_for_a_leaked_call() -> Result<()> {
    let (executor, model, mut arena) = parts()?;
    let long = vec!["time ".repeat(200); 200];
    forget(model.on(&executor).deferred().text_encode(&long, EMBEDDINGS | Outputs::STATES, F32, &mut arena)?);
    drop(long);
    drop(arena);
    drop(executor);
    drop(model);
    Ok(())
}

#[test]
fn deferred_calls_are_futures() -> Result<()> {
    let (executor, model, mut arena) = parts()?;
    let mut other = Arena::new()?;
    let deferred = model.on(&executor).deferred();
    block_on(async {
        let long = vec!["time ".repeat(100); 20];
        let first = deferred.text_encode(&long, EMBEDDINGS, F32, &mut arena)?;
        let second = deferred.text_encode(&["a"], EMBEDDINGS, F32, &mut other)?;
        let (first, second) = (first.await?, second.await?);
        assert_eq!(first.embeddings.unwrap().rows(), 20);
        assert_eq!(second.embeddings.unwrap().values::<f32>()?, embedding(&model, "a"));
        Result::Ok(())
    })?;
    // A result is taken once, by whatever way.
    let mut call = deferred.text_encode(&["a"], EMBEDDINGS, F32, &mut arena)?;
    block_on(&mut call)?;
    assert_eq!(block_on(&mut call).unwrap_err(), Status::InvalidArgument);
    assert_eq!(call.wait().unwrap_err(), Status::InvalidArgument);
    model.text_encode(&["a"], EMBEDDINGS, F32, &mut arena)?;
    // A future that goes from one task to another wakes the last one that asked.
    while_held_up(&executor, &model, || {
        let mut call = deferred.text_encode(&["a"], EMBEDDINGS, F32, &mut arena).unwrap();
        let wakers = [(); 2].map(|()| Arc::new(Count(0.into())));
        for waker in &wakers {
            let waker = Waker::from(waker.clone());
            assert!(Pin::new(&mut call).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert!(call.cancel());
        let [first, second] = wakers.map(|count| count.0.load(Ordering::SeqCst));
        assert_eq!((first, second), (0, 1));
    });
    Ok(())
}

struct Count(std::sync::atomic::AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_polled_future_that_is_leaked_keeps_what_its_notification_needs() -> Result<()> {
    let (executor, model, mut arena) = parts()?;
    let count = Arc::new(Count(0.into()));
    while_held_up(&executor, &model, || {
        let mut call =
            Box::pin(model.on(&executor).deferred().text_encode(&["a"], EMBEDDINGS, F32, &mut arena).unwrap());
        let waker = Waker::from(count.clone());
        assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        forget(call);
    });
    drop(arena); // waits
    drop(executor);
    let begin = Instant::now(); // the notification may come after
    while count.0.load(Ordering::SeqCst) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "nobody was told");
        thread::yield_now();
    }
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    Ok(())
}

const LEAK_VARIABLE: &str = "UFORM_TEST_LEAKS_AT_EXIT";

/// What the process below does: it ends with a call in flight that is leaked, with all that is there.
fn leak() -> Result<()> {
    let (executor, model, arena) = parts()?;
    let long = vec!["time ".repeat(200); 200];
    let arena = Box::leak(Box::new(arena));
    let mut call = Box::pin(model.on(&executor).deferred().text_encode(&long, EMBEDDINGS, F32, arena)?);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let _ = call.as_mut().poll(&mut Context::from_waker(&waker));
    forget((call, executor, model));
    Ok(())
}

#[test]
fn a_process_with_leaked_calls_ends() -> Result<()> {
    if std::env::var_os(LEAK_VARIABLE).is_some() {
        return leak();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["a_process_with_leaked_calls_ends", "--exact"])
        .env(LEAK_VARIABLE, "1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(120) {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().and_then(|()| child.wait()).unwrap();
    panic!("it hangs at exit");
}
