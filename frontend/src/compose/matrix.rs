//! Matrices as column-major slices of values: products, transpose, determinant, inverse.

use super::geometry::dot;
use super::{add, float_like, mul, sub};
use crate::ir::{Alu, FunctionBuilder, Value};

/// `m * v`: the columns weighted by `v`, summed left to right.
pub fn mul_vector(b: &mut FunctionBuilder, m: &[Value], v: &[Value]) -> Vec<Value> {
    let rows = m.len() / v.len();
    (0..rows)
        .map(|row| {
            let across: Vec<Value> = m.iter().copied().skip(row).step_by(rows).collect();
            dot(b, &across, v)
        })
        .collect()
}

/// `v * m`: the dot product of `v` with each column.
pub fn vector_mul(b: &mut FunctionBuilder, v: &[Value], m: &[Value]) -> Vec<Value> {
    m.chunks_exact(v.len()).map(|column| dot(b, v, column)).collect()
}

/// `x * y`, where `inner` is the number of columns of `x` and of rows of `y`.
pub fn mul_matrix(b: &mut FunctionBuilder, x: &[Value], y: &[Value], inner: usize) -> Vec<Value> {
    y.chunks_exact(inner)
        .flat_map(|column| mul_vector(b, x, column))
        .collect()
}

/// The transpose of a matrix with that many rows.
pub fn transpose(m: &[Value], rows: usize) -> Vec<Value> {
    (0..rows)
        .flat_map(|row| m.iter().copied().skip(row).step_by(rows))
        .collect()
}

/// The outer product: column `j` is `x * y[j]`.
pub fn outer(b: &mut FunctionBuilder, x: &[Value], y: &[Value]) -> Vec<Value> {
    let mut out = Vec::with_capacity(x.len() * y.len());
    for &y in y {
        for &x in x {
            out.push(mul(b, x, y));
        }
    }
    out
}

/// `x*w - y*z`.
fn minor(b: &mut FunctionBuilder, x: Value, y: Value, z: Value, w: Value) -> Value {
    let (p, q) = (mul(b, x, w), mul(b, y, z));
    sub(b, p, q)
}

/// The minors of two columns of a 4x4 matrix over the row pairs 01, 02, 03, 12, 13, 23.
fn column_minors(b: &mut FunctionBuilder, c: &[Value], d: &[Value]) -> [Value; 6] {
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)].map(|(i, j)| minor(b, c[i], c[j], d[i], d[j]))
}

/// `x*p - y*q + z*r`.
fn alternating(b: &mut FunctionBuilder, terms: [(Value, Value); 3]) -> Value {
    let [first, second, third] = terms.map(|(x, p)| mul(b, x, p));
    let left = sub(b, first, second);
    add(b, left, third)
}

/// The determinant of a square matrix of 2, 3 or 4 columns.
pub fn determinant(b: &mut FunctionBuilder, m: &[Value]) -> Value {
    match m.len() {
        4 => minor(b, m[0], m[1], m[2], m[3]),
        9 => {
            let across = super::geometry::cross(b, &m[3..6], &m[6..9]);
            dot(b, &m[0..3], &across)
        }
        _ => {
            let low = column_minors(b, &m[0..4], &m[4..8]);
            let high = column_minors(b, &m[8..12], &m[12..16]);
            complementary(b, &low, &high)
        }
    }
}

/// The Laplace expansion along two pairs of columns.
fn complementary(b: &mut FunctionBuilder, low: &[Value; 6], high: &[Value; 6]) -> Value {
    let left = alternating(b, [(low[0], high[5]), (low[1], high[4]), (low[2], high[3])]);
    let right = alternating(b, [(low[3], high[2]), (low[4], high[1]), (low[5], high[0])]);
    add(b, left, right)
}

/// The inverse of a square matrix of 2, 3 or 4 columns: adjugate over determinant.
pub fn inverse(b: &mut FunctionBuilder, m: &[Value]) -> Vec<Value> {
    let (adjugate, determinant) = match m.len() {
        4 => {
            let (minus_b, minus_c) = (b.alu(Alu::FNeg, &[m[1]]), b.alu(Alu::FNeg, &[m[2]]));
            (vec![m[3], minus_b, minus_c, m[0]], determinant(b, m))
        }
        9 => {
            let (x, y, z) = (&m[0..3], &m[3..6], &m[6..9]);
            let rows = [
                super::geometry::cross(b, y, z),
                super::geometry::cross(b, z, x),
                super::geometry::cross(b, x, y),
            ];
            let d = dot(b, x, &rows[0]);
            // The cross products are the rows of the adjugate.
            (transpose(&rows.concat(), 3), d)
        }
        _ => adjugate4(b, m),
    };
    let one = float_like(b, determinant, 1.0);
    let scale = b.alu(Alu::FDiv, &[one, determinant]);
    adjugate.into_iter().map(|x| mul(b, x, scale)).collect()
}

fn adjugate4(b: &mut FunctionBuilder, m: &[Value]) -> (Vec<Value>, Value) {
    let s = column_minors(b, &m[0..4], &m[4..8]);
    let c = column_minors(b, &m[8..12], &m[12..16]);
    // With a[i] row i of column k, cofactors of columns 2, 3 use the minors of columns 0, 1 and the reverse.
    let rows = |k: usize| [m[4 * k], m[4 * k + 1], m[4 * k + 2], m[4 * k + 3]];
    let mut row = |a: [Value; 4], d: &[Value; 6], negate: bool| -> [Value; 4] {
        let terms = [
            [(a[1], d[5]), (a[2], d[4]), (a[3], d[3])],
            [(a[0], d[5]), (a[2], d[2]), (a[3], d[1])],
            [(a[0], d[4]), (a[1], d[2]), (a[3], d[0])],
            [(a[0], d[3]), (a[1], d[1]), (a[2], d[0])],
        ];
        let mut odd = negate;
        terms.map(|t| {
            let value = alternating(b, t);
            let signed = if odd { b.alu(Alu::FNeg, &[value]) } else { value };
            odd = !odd;
            signed
        })
    };
    let adjugate_rows = [
        row(rows(1), &c, false),
        row(rows(0), &c, true),
        row(rows(3), &s, false),
        row(rows(2), &s, true),
    ];
    let determinant = complementary(b, &s, &c);
    (transpose(&adjugate_rows.concat(), 4), determinant)
}
