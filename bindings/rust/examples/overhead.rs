//! What the binding costs over the C functions: `cargo run --release --example overhead -- MODEL_FOLDER`.
//!
//! Each figure is the least of many rounds, in nanoseconds. A call has one text, so that little is computed; the two ways
//! take turns, as the time of computing wanders.

use std::env;
use std::error::Error;
use std::ffi::{CString, c_char, c_void};
use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::time::Instant;

use uform::{Arena, Model, Outputs, Scalar, TapeView};

/// `uform_tape_t`.
#[repr(C)]
struct Tape {
    bytes: *const u8,
    size: u64,
    offsets: *const c_void,
    texts: u64,
    offset_bytes: u32,
    reserved: u32,
}

type Handle = *mut c_void;
type Message = *mut *const c_char;

#[rustfmt::skip]
unsafe extern "C" {
    fn uform_model_load(folder: *const c_char, options: *const c_void, model: *mut Handle, message: Message) -> i32;
    fn uform_arena_init(executor: Handle, arena: *mut Handle, message: Message) -> i32;
    fn uform_text_encode(model: Handle, executor: Handle, texts: *const Tape, outputs: u32, scalar: i32, arena: Handle, options: *const c_void, encoded: *mut [u64; 84], message: Message) -> i32;
    fn uform_rows_values(rows: *const [u64; 84], scalar: i32, values: *mut *const c_void, message: Message) -> i32;
}

/// Nanoseconds of one run, over a round of so many.
fn round(runs: usize, mut run: impl FnMut()) -> f64 {
    let begin = Instant::now();
    for _ in 0..runs {
        run();
    }
    begin.elapsed().as_nanos() as f64 / runs as f64
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("overhead MODEL_FOLDER")?;
    let (model, mut arena) = (Model::load(&folder)?, Arena::new()?);
    let tape = TapeView::from("a");
    let strings = ["a"];

    let (mut raw_model, mut raw_arena, mut message) = (null_mut(), null_mut(), null());
    let raw_folder = CString::new(folder)?;
    let raw_tape = Tape { bytes: b"a".as_ptr(), size: 1, offsets: null(), texts: 1, offset_bytes: 0, reserved: 0 };
    let mut raw_encoded = [0u64; 84];
    // SAFETY: all arguments live, and the layouts are those of `uform.h`.
    let status = unsafe {
        uform_model_load(raw_folder.as_ptr(), null(), &mut raw_model, &mut message)
            + uform_arena_init(null_mut(), &mut raw_arena, &mut message)
    };
    assert_eq!(status, 0);

    let mut least = [f64::INFINITY; 5];
    for _ in 0..400 {
        let figures = [
            round(50, || {
                // SAFETY: as above.
                let status = unsafe {
                    uform_text_encode(
                        raw_model,
                        null_mut(),
                        &raw_tape,
                        1,
                        0,
                        raw_arena,
                        null(),
                        &mut raw_encoded,
                        &mut message,
                    )
                };
                assert_eq!(black_box(status), 0);
            }),
            round(50, || {
                let encoded = model.text_encode(black_box(&tape), Outputs::EMBEDDINGS, Scalar::F32, &mut arena);
                black_box(encoded.unwrap());
            }),
            round(50, || {
                let encoded = model.text_encode(black_box(&strings), Outputs::EMBEDDINGS, Scalar::F32, &mut arena);
                black_box(encoded.unwrap());
            }),
            round(10_000, || {
                let mut values = null();
                // SAFETY: as above.
                let status = unsafe { uform_rows_values(black_box(&raw_encoded), 0, &mut values, &mut message) };
                black_box((status, values));
            }),
            {
                let encoded = model.text_encode(&tape, Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
                let rows = encoded.embeddings.unwrap();
                round(10_000, || drop(black_box(black_box(&rows).values::<f32>())))
            },
        ];
        for (least, figure) in least.iter_mut().zip(figures) {
            *least = least.min(figure);
        }
    }
    let [c, tape, strings, c_values, values] = least;
    println!("a call: {c:.0} ns in C; {:+.0} ns with a tape, {:+.0} ns with strings", tape - c, strings - c);
    println!("rows.values: {c_values:.1} ns in C, {values:.1} ns");
    Ok(())
}
