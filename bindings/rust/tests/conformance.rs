//! The cases that every language's binding runs: tests/conformance/cases.txt, as `tools/oracle/conformance.py` words them.
//!
//! Where a scenario does what safe Rust refuses to compile, the test makes the borrow anew, so that what lies under the
//! borrow checker is tried too. `read_device` needs a view that this program can't form: a unit test of the crate has it.

mod support;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::{env, fs, slice};

use support::{block_on, data, hex, lay};
use uform::*;

/// A refusal, or what isn't as expected.
type Outcome = std::result::Result<(), String>;

#[derive(Default)]
struct Case {
    words: HashMap<String, Vec<Vec<String>>>, // of each first word the rest of its lines
}

impl Case {
    fn lines(&self, word: &str) -> &[Vec<String>] {
        self.words.get(word).map_or(&[], Vec::as_slice)
    }
    fn line(&self, word: &str) -> Option<&[String]> {
        self.lines(word).first().map(Vec::as_slice)
    }
    fn word(&self, word: &str) -> Option<&str> {
        Some(self.line(word)?.first()?.as_str())
    }
    fn number(&self, word: &str) -> Option<i32> {
        Some(self.word(word)?.parse().expect("a number"))
    }
    fn texts(&self, word: &str) -> Vec<Vec<u8>> {
        let line = self.line(word).expect("texts");
        assert_eq!(line[0].parse(), Ok(line.len() - 1));
        line[1..].iter().map(|text| hex(text)).collect()
    }
    fn tape(&self) -> (Vec<u8>, Vec<u64>) {
        match self.line("tape") {
            Some(tape) => (hex(&tape[0]), tape[1..].iter().map(|offset| offset.parse().unwrap()).collect()),
            None => lay(&self.texts("texts")),
        }
    }
}

fn read_cases(text: &str) -> Vec<(String, Case)> {
    let mut cases = Vec::new();
    let mut open = None;
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut words = line.split(' ').map(String::from);
        match words.next().unwrap().as_str() {
            "case" => assert!(open.replace((words.next().unwrap(), Case::default())).is_none(), "a case in a case"),
            "end" => cases.push(open.take().expect("an end without a case")),
            word => {
                let (_, case) = open.as_mut().expect("a line outside a case");
                case.words.entry(word.into()).or_default().push(words.collect());
            }
        }
    }
    assert!(open.is_none() && !cases.is_empty());
    cases
}

fn scalar(number: i32) -> Scalar {
    [Scalar::F32, Scalar::F16, Scalar::Bf16, Scalar::I8, Scalar::B1, Scalar::U8, Scalar::U32, Scalar::U64]
        .get(number as usize)
        .copied()
        .unwrap_or(Scalar::Unknown(number))
}

/// The number of a status; 0 for success.
fn code<T>(result: &Result<T>) -> i32 {
    result.as_ref().err().map_or(0, |error| error.status().code())
}

fn expect(what: &str, found: i32, expected: i32) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what} is {found}, and not {expected}")) }
}

fn values(rows: Rows<'_>) -> Result<Vec<f64>> {
    Ok(match rows.scalar() {
        Scalar::F32 => rows.values::<f32>()?.iter().map(|&value| value.into()).collect(),
        Scalar::F16 => rows.values::<F16>()?.iter().map(|value| value.to_f32().into()).collect(),
        Scalar::Bf16 => rows.values::<Bf16>()?.iter().map(|value| value.to_f32().into()).collect(),
        Scalar::I8 => rows.values::<i8>()?.iter().map(|&value| value.into()).collect(),
        Scalar::B1 => {
            let bit = |row: &[B1x8], column: usize| f64::from(u8::from(row[column / 8].get(column % 8)));
            rows.iter::<B1x8>()?.flat_map(|row| (0..rows.columns()).map(move |column| bit(row, column))).collect()
        }
        other => panic!("no verb writes {other:?}"),
    })
}

fn check_sum(what: &str, rows: Rows<'_>, value: &str, tolerance: &str) -> Outcome {
    let (value, tolerance): (f64, f64) = (value.parse().unwrap(), tolerance.parse().unwrap());
    let values = values(rows).map_err(|error| format!("reading {what}: {error}"))?;
    let sum: f64 = values.iter().enumerate().map(|(i, value)| value * (1 + i % 7) as f64).sum();
    let is_near = (sum - value).abs() <= tolerance; // false for what isn't a number
    if is_near { Ok(()) } else { Err(format!("the sum of {what} is {sum}, and not {value} within {tolerance}")) }
}

/// A field of a result, flat, and its offsets where it has some.
fn output<'a>(encoded: &Encoded<'a>, name: &str) -> Option<(Rows<'a>, Option<&'a [u32]>)> {
    let ragged = match name {
        "embeddings" => return Some((encoded.embeddings?, None)),
        "probabilities" => return Some((encoded.probabilities?, None)),
        "states" => encoded.states?,
        "token_vectors" => encoded.token_vectors?,
        "token_probabilities" => encoded.token_probabilities?,
        "sparse_ids" => encoded.sparse_ids?,
        "sparse_weights" => encoded.sparse_weights?,
        other => panic!("no output {other}"),
    };
    Some((ragged.flat(), Some(ragged.offsets())))
}

fn same(what: &str, found: &[u32], expected: &[String]) -> Outcome {
    let expected: Vec<u32> = expected.iter().map(|number| number.parse().unwrap()).collect();
    if found == expected { Ok(()) } else { Err(format!("{what} are {found:?}, and not {expected:?}")) }
}

fn check_result(case: &Case, encoded: &Encoded<'_>) -> Outcome {
    let find = |name: &String| output(encoded, name).ok_or_else(|| format!("{name} isn't there"));
    for line in case.lines("shape") {
        let (rows, _) = find(&line[0])?;
        let shape: [usize; 2] = [line[1].parse().unwrap(), line[2].parse().unwrap()];
        if rows.shape() != shape {
            return Err(format!("{} is {:?}, and not {shape:?}", line[0], rows.shape()));
        }
    }
    for line in case.lines("offsets") {
        same("offsets", find(&line[0])?.1.ok_or("there are no offsets")?, &line[1..])?;
    }
    for line in case.lines("truncated") {
        same("counts of cut tokens", encoded.truncated_tokens, line)?;
    }
    for line in case.lines("token_ids") {
        same("ids", encoded.token_ids.ok_or("there are no ids")?, line)?;
    }
    for line in case.lines("ids") {
        same("ids", find(&line[0])?.0.values().map_err(|error| error.to_string())?, &line[1..])?;
    }
    for line in case.lines("sum") {
        check_sum(&line[0], find(&line[0])?.0, &line[1], &line[2])?;
    }
    Ok(())
}

fn run_call(case: &Case) -> Outcome {
    let expected = case.number("status").expect("a status");
    let model = match Model::load(data(case.word("model").unwrap())) {
        Ok(model) => model,
        Err(error) => return expect("the load's status", error.status().code(), expected),
    };
    let (bytes, offsets) = case.tape();
    let texts = match TapeView::of(&bytes, &offsets) {
        Ok(texts) => texts,
        Err(error) => return expect("the tape's status", error.status().code(), expected),
    };
    let (second_bytes, second_offsets) = lay(&case.line("second").map_or(Vec::new(), |_| case.texts("second")));
    let second = TapeView::of(&second_bytes, &second_offsets).unwrap();

    let (mut encode, mut classify) = (EncodeOptions::default(), ClassifyOptions::default());
    let mut prompt = String::new();
    for line in case.lines("option") {
        let number = || line[1].parse::<usize>().unwrap();
        match line[0].as_str() {
            "prompt" => prompt = String::from_utf8(hex(&line[1])).unwrap(),
            "dimensions" => encode.dimensions = Some(number()),
            "tokens_per_call" => encode.tokens_per_call = Some(number()),
            "truncate" => {
                encode.truncate = [Truncate::Cut, Truncate::Refuse][number()];
                classify.truncate = encode.truncate;
            }
            "normalize" => encode.normalize = [Normalize::AsPublished, Normalize::On, Normalize::Off][number()],
            "role" => encode.role = [Role::Document, Role::Query][number()],
            "activation" => {
                let all = [Activation::AsPublished, Activation::None, Activation::Sigmoid, Activation::Softmax];
                classify.activation = all[number()];
            }
            other => panic!("no option {other}"),
        }
    }
    encode.prompt = (!prompt.is_empty()).then_some(&prompt);

    let executor = case.number("executor").map(|threads| Executor::for_ram(threads as usize).unwrap());
    let mut arena = Arena::new().unwrap();
    let arena = &mut arena;
    let verbs = executor.as_ref().map_or(model.on_calling_thread(), |executor| model.on(executor));
    let scalar = scalar(case.number("scalar").unwrap());
    let outputs = Outputs::from_bits(case.number("outputs").unwrap_or(0) as u32);
    let result = if case.line("deferred").is_some() {
        let verbs = verbs.deferred();
        let call = match case.word("verb").unwrap() {
            "encode" => verbs.text_encode_with(&texts, outputs, scalar, arena, &encode),
            "classify" => verbs.text_classify_with(&texts, scalar, arena, &classify),
            "classify_pairs" => verbs.text_classify_pairs_with(&texts, &second, scalar, arena, &classify),
            "rerank" => verbs.text_rerank_with(&texts, &second, scalar, arena, &classify),
            other => panic!("no verb {other}"),
        };
        call.and_then(Deferred::wait)
    } else {
        match case.word("verb").unwrap() {
            "encode" => verbs.text_encode_with(&texts, outputs, scalar, arena, &encode),
            "classify" => verbs.text_classify_with(&texts, scalar, arena, &classify),
            "classify_pairs" => verbs.text_classify_pairs_with(&texts, &second, scalar, arena, &classify),
            "rerank" => verbs.text_rerank_with(&texts, &second, scalar, arena, &classify),
            other => panic!("no verb {other}"),
        }
    };
    expect("the call's status", code(&result), expected)?;
    match result {
        Ok(encoded) => check_result(case, &encoded),
        Err(error) if error.message().is_empty() => Err("the error has no text".into()),
        Err(_) => Ok(()),
    }
}

/// An arena whose borrows are made anew for each call, as a program that isn't checked would have it.
struct Unchecked(*mut Arena);

impl Unchecked {
    fn new(arena: Arena) -> Self {
        Self(Box::into_raw(Box::new(arena)))
    }
    fn borrow<'a>(&self) -> &'a mut Arena {
        // SAFETY: the box lives until `free`; borrows end with the call that takes them, as views hold none but in name.
        unsafe { &mut *self.0 }
    }
    fn free(self) {
        // SAFETY: made in `new`, and freed once, as `self` goes.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

fn run_scenario(case: &Case) -> Outcome {
    let model = Model::load(data(case.word("model").unwrap())).unwrap();
    let texts = case.texts("texts");
    let executor = Executor::for_ram(1).unwrap();
    let deferred = model.on(&executor).deferred();
    let laid: Vec<(Vec<u8>, Vec<u64>)> = texts.iter().map(|text| lay(slice::from_ref(text))).collect();
    let tape = |i: usize| TapeView::of(&laid[i].0, &laid[i].1).unwrap();
    let encode =
        |i: usize, arena: &'static mut Arena| model.text_encode(&tape(i), Outputs::EMBEDDINGS, Scalar::F32, arena);
    let submit =
        |i: usize, arena: &'static mut Arena| deferred.text_encode(&tape(i), Outputs::EMBEDDINGS, Scalar::F32, arena);
    let read = |encoded: &Encoded<'_>| code(&encoded.embeddings.unwrap().values::<f32>());
    let mut checked = 0;
    let mut check = |name: &str, found: i32| -> Outcome {
        let line = case.lines("check").iter().find(|line| line[0] == name).unwrap_or_else(|| panic!("no check {name}"));
        checked += 1;
        expect(name, found, line[1].parse().unwrap())
    };
    let sum = |name: &str, encoded: &Encoded<'_>| {
        let line = case.lines("sum").iter().find(|line| line[0] == name).unwrap_or_else(|| panic!("no sum {name}"));
        check_sum(name, encoded.embeddings.unwrap(), &line[1], &line[2])
    };
    let arena = Unchecked::new(Arena::new().unwrap());
    let mut unmade = 0; // checks that this program can't make
    match case.word("scenario").unwrap() {
        "stale" => {
            let first = encode(0, arena.borrow()).unwrap();
            let second = encode(1, arena.borrow()).unwrap();
            check("read_first", read(&first))?;
            check("read_second", read(&second))?;
            sum("second", &second)?;
            arena.free();
        }
        "freed" => {
            let old = encode(0, arena.borrow()).unwrap();
            arena.free();
            check("read", read(&old))?;
            let another = Unchecked::new(Arena::new().unwrap());
            let new = encode(1, another.borrow()).unwrap();
            check("read_again", read(&old))?;
            check("read_new", read(&new))?;
            sum("second", &new)?;
            another.free();
        }
        "busy" => {
            let call = submit(0, arena.borrow());
            check("submit", code(&call))?;
            check("call", code(&encode(1, arena.borrow())))?;
            check("call_deferred", code(&submit(1, arena.borrow())))?;
            let encoded = call.unwrap().wait();
            check("wait", code(&encoded))?;
            let pinned = encoded.unwrap().pin().unwrap();
            check("read", read(&pinned.encoded()))?;
            sum("first", &pinned.encoded())?;
            check("call_pinned", code(&encode(1, arena.borrow())))?;
            drop(pinned);
            let after = encode(1, arena.borrow());
            check("call_after", code(&after))?;
            sum("second", &after.unwrap())?;
            arena.free();
        }
        "dropped" => {
            let (bytes, offsets) = lay(&texts);
            let all = TapeView::of(&bytes, &offsets).unwrap();
            let call = deferred.text_encode(&all, Outputs::EMBEDDINGS, Scalar::F32, arena.borrow());
            arena.free();
            check("submit", code(&call))?;
            let encoded = call.unwrap().wait();
            check("wait", code(&encoded))?;
            check("read", read(&encoded.unwrap()))?;
            let another = Unchecked::new(Arena::new().unwrap());
            let encoded = encode(0, another.borrow());
            check("call", code(&encoded))?;
            sum("first", &encoded.unwrap())?;
            another.free();
        }
        "each_own" => {
            let mut arenas: Vec<Arena> = texts.iter().map(|_| Arena::new_in(&executor).unwrap()).collect();
            let calls: Vec<_> = (arenas.iter_mut().enumerate())
                .map(|(i, arena)| deferred.text_encode(&tape(i), Outputs::EMBEDDINGS, Scalar::F32, arena).unwrap())
                .collect();
            let results: Vec<_> = calls.into_iter().map(Deferred::wait).collect();
            check("wait", results.iter().map(code).max().unwrap())?;
            for (i, encoded) in results.iter().enumerate() {
                sum(&format!("sum_{i}"), encoded.as_ref().unwrap())?;
            }
            arena.free();
        }
        "description" => {
            let number = |residency| i32::from(residency != Residency::Ram);
            let description = arena.borrow().describe().unwrap();
            check("residency", number(description.residency))?;
            check("device", description.device.map_or(-1, |device| device as i32))?;
            let description = Arena::new_in(&Executor::for_ram(2).unwrap()).unwrap().describe().unwrap();
            check("executor_residency", number(description.residency))?;
            check("executor_device", description.device.map_or(-1, |device| device as i32))?;
            arena.free();
        }
        "device" => {
            unmade = 1; // `read_device`
            match Executor::for_vram(0) {
                Err(error) => {
                    check("executor", error.status().code())?;
                    if error.message().is_empty() {
                        return Err("no word of why there is no device".into());
                    }
                    unmade += 5;
                }
                Ok(executor) => {
                    unmade += 1; // `executor`, which is of machines without one
                    let device = Unchecked::new(Arena::new_in(&executor).unwrap());
                    let description = device.borrow().describe().unwrap();
                    check("describe_residency", i32::from(description.residency == Residency::Vram))?;
                    check("describe_device", description.device.map_or(-1, |device| device as i32))?;
                    check("call_host", code(&encode(0, device.borrow())))?;
                    let verbs = model.on(&executor);
                    let call = |arena| verbs.text_encode(&tape(0), Outputs::EMBEDDINGS, Scalar::F32, arena);
                    check("call_device", code(&call(device.borrow())))?;
                    check("call_mixed", code(&call(arena.borrow())))?;
                    device.free();
                }
            }
            arena.free();
        }
        "limit" => {
            let first = encode(0, arena.borrow()).unwrap();
            arena.borrow().set_limit(Some(8)).unwrap();
            check("call", code(&encode(1, arena.borrow())))?;
            check("read", read(&first))?;
            sum("first", &first)?;
            arena.borrow().set_limit(None).unwrap();
            let after = encode(1, arena.borrow());
            check("call_after", code(&after))?;
            sum("second", &after.unwrap())?;
            arena.free();
        }
        "pinned" => {
            let first = encode(0, arena.borrow()).unwrap();
            let pin = first.pin();
            check("pin", code(&pin))?;
            check("call", code(&encode(1, arena.borrow())))?;
            check("read", read(&first))?;
            sum("first", &first)?;
            drop(pin);
            let after = encode(1, arena.borrow());
            check("call_after", code(&after))?;
            sum("second", &after.unwrap())?;
            check("pin_stale", code(&first.pin()))?;
            arena.free();
        }
        "cancelled" => {
            let first = encode(0, arena.borrow()).unwrap();
            let stop = Cancellation::new().unwrap();
            let options = EncodeOptions { cancellation: Some(&stop), ..Default::default() };
            let verbs = model.on_calling_thread();
            let call = |arena: &'static mut Arena| {
                verbs.text_encode_with(&tape(1), Outputs::EMBEDDINGS, Scalar::F32, arena, &options)
            };
            stop.request();
            check("call", code(&call(arena.borrow())))?;
            check("read", read(&first))?;
            sum("first", &first)?;
            stop.reset();
            let after = call(arena.borrow());
            check("call_after", code(&after))?;
            sum("second", &after.unwrap())?;
            arena.free();
        }
        "own_input" => {
            let first = encode(0, arena.borrow()).unwrap();
            let values = first.embeddings.unwrap().values::<f32>().unwrap();
            // SAFETY: the same bytes; any are a value of `u8`.
            let bytes = unsafe { slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
            let offsets = [0, bytes.len() as u64];
            let own = TapeView::of(bytes, &offsets).unwrap();
            let call = model.text_encode(&own, Outputs::EMBEDDINGS, Scalar::F32, arena.borrow());
            check("call", code(&call))?;
            check("read", read(&first))?;
            sum("first", &first)?;
            arena.free();
        }
        "taken" => {
            let mut call = submit(0, arena.borrow()).unwrap();
            check("wait", code(&block_on(&mut call)))?;
            check("wait_again", code(&call.wait()))?;
            arena.free();
        }
        other => panic!("no scenario {other}"),
    }
    if checked + unmade == case.lines("check").len() {
        Ok(())
    } else {
        Err(format!("{checked} checks of {} were made", case.lines("check").len()))
    }
}

fn main() -> ExitCode {
    let filter = env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let path = data("../conformance/cases.txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut passed, mut failed) = (0, 0);
    for (id, case) in read_cases(&text).into_iter().filter(|(id, _)| id.contains(&filter)) {
        let run = if case.line("scenario").is_some() { run_scenario } else { run_call };
        match catch_unwind(AssertUnwindSafe(|| run(&case))).unwrap_or(Err("it panicked".into())) {
            Ok(()) => passed += 1,
            Err(why) => {
                failed += 1;
                println!("test {id} ... FAILED: {why}");
            }
        }
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored\n");
    if failed == 0 && (passed > 0 || !filter.is_empty()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
