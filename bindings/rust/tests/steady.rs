//! A loop allocates once. Counts every allocation of the process, in Rust and in the library: `malloc` and its kin are
//! replaced, and Rust's allocator is asked, too. One test, as the counts are the process's.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use support::data;
use uform::*;

static IN_RUST: AtomicUsize = AtomicUsize::new(0);
static IN_ALL: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_RUST.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
}

fn count() {
    IN_ALL.fetch_add(1, Ordering::Relaxed);
}

// glibc's own functions do the work, under the names that it keeps for those who replace the others.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    count();
    // SAFETY: the caller's promise.
    unsafe { __libc_malloc(size) }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(number: usize, size: usize) -> *mut c_void {
    count();
    // SAFETY: the caller's promise.
    unsafe { __libc_calloc(number, size) }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    count();
    // SAFETY: the caller's promise.
    unsafe { __libc_realloc(block, size) }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    count();
    // SAFETY: the caller's promise.
    unsafe { __libc_memalign(alignment, size) }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    count();
    // SAFETY: the caller's promise.
    unsafe { *out = __libc_memalign(alignment, size) };
    0
}

/// Allocations while something runs: of Rust, and of all.
fn allocations(run: impl FnOnce()) -> (usize, usize) {
    let before = (IN_RUST.load(Ordering::SeqCst), IN_ALL.load(Ordering::SeqCst));
    run();
    (IN_RUST.load(Ordering::SeqCst) - before.0, IN_ALL.load(Ordering::SeqCst) - before.1)
}

#[test]
fn a_steady_loop_allocates_nothing() -> Result<()> {
    let (model, reranker) = (Model::load(data("tiny"))?, Model::load(data("outputs/bert-reranker"))?);
    // The counters see what there is to see.
    let (rust, all) = allocations(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!((rust, all), (1, 1));
    let tokenizer = model.tokenizer()?;
    let (rust, all) = allocations(|| drop(tokenizer.count("the model")));
    assert!(rust == 0 && all > 0, "the library's allocations aren't seen: {rust}, {all}");

    let batches: [&[&str]; 3] = [&["a", "the model"], &["The search of a vector.", "people work", "x"], &[]];
    let owned: Vec<String> = batches[1].iter().map(|text| text.to_string()).collect();
    let tape: Tape = batches[1].iter().collect();
    let mut numbers = [0f32; 48 * 3];
    for threads in [1, 2] {
        let executor = Executor::for_ram(threads)?;
        let (mut arena, mut other) = (Arena::new_in(&executor)?, Arena::new()?);
        let mut once = || -> Result<()> {
            let verbs = model.on(&executor);
            for batch in batches {
                let encoded =
                    verbs.text_encode(batch, Outputs::EMBEDDINGS | Outputs::STATES, Scalar::F32, &mut arena)?;
                let rows = encoded.embeddings.unwrap();
                rows.copy_to(&mut numbers[..rows.rows() * 48])?;
                for row in rows.iter::<f32>()? {
                    std::hint::black_box(row);
                }
                for states in encoded.states.unwrap() {
                    std::hint::black_box(states.values::<f32>()?);
                }
                let pinned = encoded.pin()?;
                std::hint::black_box(pinned.encoded());
            }
            verbs.text_encode(&owned, Outputs::EMBEDDINGS, Scalar::I8, &mut arena)?;
            verbs.text_encode(&tape, Outputs::EMBEDDINGS, Scalar::F16, &mut arena)?;
            model.text_encode(&tape, Outputs::EMBEDDINGS, Scalar::F32, &mut other)?;
            reranker.on(&executor).text_rerank("the model", batches[1], Scalar::F32, &mut arena)?;
            let call = verbs.deferred().text_encode(batches[1], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?;
            call.wait()?;
            // A busy arena's refusal is static.
            let pinned = verbs.text_encode(batches[0], Outputs::EMBEDDINGS, Scalar::F32, &mut arena)?.pin()?;
            let refused = verbs.text_encode(batches[0], Outputs::EMBEDDINGS, Scalar::F32, &mut arena);
            assert_eq!(refused.unwrap_err(), Status::Contended);
            drop(pinned);
            Ok(())
        };
        for _ in 0..3 {
            once()?;
        }
        let mut result = Ok(());
        let counts = allocations(|| result = (0..50).try_for_each(|_| once()));
        result?;
        assert_eq!(counts, (0, 0), "{threads} threads: allocations of Rust, and of all");
    }
    Ok(())
}
