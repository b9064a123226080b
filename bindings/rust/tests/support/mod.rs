//! What the tests share: where the data lies, the reference's numbers, and a future that is waited for.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::{fs, str};

/// A path below tests/data.
pub fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

/// The tensors of a safetensors file.
pub struct Golden {
    header: String,
    bytes: Vec<u8>,
}

impl Golden {
    pub fn open(name: &str) -> Self {
        let file = fs::read(data(name).join("golden.safetensors")).expect("a golden");
        let size = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
        Self { header: String::from_utf8(file[8..8 + size].to_vec()).unwrap(), bytes: file[8 + size..].to_vec() }
    }

    fn read(&self, name: &str) -> &[u8] {
        let entry = self.header.find(&format!("\"{name}\":{{")).unwrap_or_else(|| panic!("no tensor {name}"));
        let rest = &self.header[entry..];
        let at = rest.find("\"data_offsets\":[").unwrap() + 16;
        let list = &rest[at..at + rest[at..].find(']').unwrap()];
        let (first, last) = list.split_once(',').unwrap();
        &self.bytes[first.parse().unwrap()..last.parse().unwrap()]
    }

    pub fn floats(&self, name: &str) -> Vec<f32> {
        self.read(name).chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
    }

    pub fn integers(&self, name: &str) -> Vec<u32> {
        self.read(name).chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect()
    }
}

/// The texts of a JSON lines file, `{"text": "…"}` or `{"hex": "…"}`, as bytes.
pub fn texts(name: &str) -> Vec<Vec<u8>> {
    let file = fs::read_to_string(data(name)).expect("texts");
    file.lines().filter(|line| !line.is_empty()).map(text_of_line).collect()
}

fn text_of_line(line: &str) -> Vec<u8> {
    if let Some(at) = line.find("\"hex\": \"") {
        let digits = line[at + 8..].split('"').next().unwrap();
        return hex(digits);
    }
    let at = line.find("\"text\": \"").expect("a text") + 9;
    let mut out = Vec::<u16>::new();
    let mut letters = line[at..].chars();
    loop {
        match letters.next().expect("the end of a text") {
            '"' => return String::from_utf16(&out).unwrap().into_bytes(),
            '\\' => match letters.next().unwrap() {
                'n' => out.push(10),
                't' => out.push(9),
                'r' => out.push(13),
                'b' => out.push(8),
                'f' => out.push(12),
                'u' => {
                    let digits: String = letters.by_ref().take(4).collect();
                    out.push(u16::from_str_radix(&digits, 16).unwrap());
                }
                other => out.extend(other.encode_utf16(&mut [0; 2]).iter()),
            },
            letter => out.extend(letter.encode_utf16(&mut [0; 2]).iter()),
        }
    }
}

/// Bytes from hexadecimal digits; `-`: none.
pub fn hex(digits: &str) -> Vec<u8> {
    if digits == "-" {
        return Vec::new();
    }
    assert_eq!(digits.len() % 2, 0, "half a byte");
    let pairs = digits.as_bytes().chunks_exact(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Texts end to end, with their offsets: what need not be UTF-8 has no other way in.
pub fn lay(texts: &[Vec<u8>]) -> (Vec<u8>, Vec<u64>) {
    let mut offsets = vec![0];
    offsets.extend(texts.iter().scan(0, |end, text| {
        *end += text.len() as u64;
        Some(*end)
    }));
    (texts.concat(), offsets)
}

/// The largest difference of two lists, in double; infinite where one isn't a number.
pub fn largest_difference(ours: &[f32], theirs: &[f32]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let differences = ours.iter().zip(theirs).map(|(ours, theirs)| (f64::from(*ours) - f64::from(*theirs)).abs());
    differences.fold(0.0, |largest, one| {
        if one <= largest {
            largest
        } else if one.is_nan() {
            f64::INFINITY
        } else {
            one
        }
    })
}

pub fn largest(values: &[f32]) -> f64 {
    values.iter().fold(0.0, |largest, value| f64::from(value.abs()).max(largest))
}

/// Wakes a thread that sleeps.
pub struct Unpark(pub Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor of futures.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
