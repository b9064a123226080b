//! Finds the line that is nearest to a question: `cargo run --release --example search -- MODEL_FOLDER [QUESTION]`.

use std::env;
use std::error::Error;
use std::process::ExitCode;

use uform::{Arena, Executor, Model, Outputs, Scalar};

const LINES: [&str; 5] = [
    "The harvest was late because of the rain.",
    "A violin has four strings.",
    "Bread is made of flour, water, salt and yeast.",
    "The train to the coast leaves at noon.",
    "Whales breathe air.",
];

fn main() -> ExitCode {
    match search() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("search: {error}"); // what `main` returns would be printed as a structure
            ExitCode::FAILURE
        }
    }
}

fn search() -> Result<(), Box<dyn Error>> {
    let mut words = env::args().skip(1);
    let folder = words.next().ok_or("MODEL_FOLDER [QUESTION]")?;
    let question = words.next().unwrap_or_else(|| "what do I need to bake a loaf?".into());

    let executor = Executor::for_ram(0)?;
    let model = Model::load(folder)?;
    let verbs = model.on(&executor);

    // Each result borrows its arena, so two that are read together have one each.
    let (mut of_lines, mut of_question) = (Arena::new_in(&executor)?, Arena::new_in(&executor)?);
    let lines = verbs.text_encode(&LINES, Outputs::EMBEDDINGS, Scalar::F32, &mut of_lines)?;
    let asked = verbs.text_encode(&question, Outputs::EMBEDDINGS, Scalar::F32, &mut of_question)?;
    let lines = lines.embeddings.ok_or("no embeddings")?;
    let asked = asked.embeddings.ok_or("no embeddings")?.row::<f32>(0)?;

    let mut found: Vec<(f32, &str)> = lines
        .iter::<f32>()?
        .zip(LINES)
        .map(|(line, text)| (line.iter().zip(asked).map(|(a, b)| a * b).sum(), text))
        .collect();
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    println!("{question}");
    for (similarity, text) in found {
        println!("{similarity:7.4}  {text}");
    }
    Ok(())
}
