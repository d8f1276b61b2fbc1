//! Copies between buffers and textures.

use super::support::*;
use quadrille::*;

#[test]
fn copies_move_bytes_and_texels() {
    let f = Fill::new();
    let all = BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let a = buffer(&f.device, "a", &(0..64).collect::<Vec<u8>>(), all);
    let b = buffer(&f.device, "b", &[0; 64], all);
    let texture = f
        .device
        .create_texture(&TextureDescriptor {
            label: Some("texels"),
            size: Extent3d::new_2d(4, 4),
            usage: TextureUsages::COPY_SRC | TextureUsages::COPY_DST,
            ..TextureDescriptor::default()
        })
        .expect("a texture");
    let rows = |buffer| TexelCopyBufferInfo {
        buffer,
        layout: TexelCopyBufferLayout::default(),
    };
    let mut encoder = f.encoder();
    let size = Extent3d::new_2d(4, 4);
    encoder
        .copy_buffer_to_texture(rows(&a), TexelCopyTextureInfo::whole(&texture), size)
        .expect("recorded");
    encoder
        .copy_texture_to_buffer(TexelCopyTextureInfo::whole(&texture), rows(&b), size)
        .expect("recorded");
    encoder.copy_buffer_to_buffer(&a, 0, &a, 32, 8).expect("recorded");
    encoder.clear_buffer(&a, 4, Some(4)).expect("recorded");
    f.submit(encoder.finish());
    assert_eq!(b.read().expect("readable"), (0..64).collect::<Vec<u8>>());
    assert_eq!(texture.read().expect("readable"), (0..64).collect::<Vec<u8>>());
    let a = a.read().expect("readable");
    assert_eq!(
        (&a[0..8], &a[32..40]),
        (&[0, 1, 2, 3, 0, 0, 0, 0][..], &[0, 1, 2, 3, 4, 5, 6, 7][..])
    );
}

#[test]
fn copies_that_do_not_fit_are_refused() {
    let f = Fill::new();
    let a = buffer(
        &f.device,
        "a",
        &[0; 16],
        BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
    );
    let mut encoder = f.encoder();
    says(encoder.copy_buffer_to_buffer(&a, 0, &a, 4, 8), &["'a'", "overlaps"]);
    says(
        encoder.copy_buffer_to_buffer(&a, 12, &a, 0, 8),
        &["'a'", "byte 20", "16"],
    );
    says(encoder.copy_buffer_to_buffer(&a, u64::MAX, &a, 0, 8), &["'a'"]);
    says(
        encoder.copy_buffer_to_buffer(&f.vertices, 0, &a, 0, 8),
        &["'vertices'", "COPY_SRC", "VERTEX"],
    );
    says(encoder.clear_buffer(&a, 17, None), &["'a'"]);
    let info = TexelCopyBufferInfo {
        buffer: &a,
        layout: TexelCopyBufferLayout::default(),
    };
    encoder
        .copy_texture_to_buffer(TexelCopyTextureInfo::whole(&f.target), info, Extent3d::new_2d(8, 8))
        .expect("sizes are seen when it runs");
    says(
        f.device.queue().submit([encoder.finish()]),
        &["'target'", "16 bytes", "256"],
    );
}
