//! Logic operations (R-OM-50), what blending with a second source needs (R-OM-40), and what Direct3D refuses.

use super::support::*;
use quadrille_jit::interp::Interpreter;
use quadrille_raster::format::TextureFormat;
use quadrille_raster::pipeline::{
    BlendComponent, BlendFactor, BlendOperation, BlendState, ColorTargetState, LogicOperation, Rules,
};

fn unsigned(words: [u32; 4]) -> Fragment {
    custom(move |s| {
        for c in 0..4u8 {
            let v = s.b.u32(words[usize::from(c)]);
            s.write(location(0, c), v);
        }
    })
}

/// The row of section 4: s = C, d = A in every nibble.
#[test]
fn r_om_50_sixteen_operations() {
    let expected = [
        0x0, 0xf, 0xc, 0x3, 0xa, 0x5, 0x8, 0x7, 0xe, 0x1, 0x6, 0x9, 0x4, 0x2, 0xd, 0xb,
    ];
    for (&op, nibble) in LogicOperation::ALL.iter().zip(expected) {
        for (format, bits) in [
            (TextureFormat::Rgba8Uint, 8),
            (TextureFormat::Rg16Uint, 16),
            (TextureFormat::Rgba16Uint, 16),
            (TextureFormat::R32Uint, 32),
            (TextureFormat::Rgba32Uint, 32),
        ] {
            let all = (1u64 << bits) - 1;
            let fill = |n: u64| ((n * 0x1111_1111) & all) as u32;
            let mut f = Frame::new(format, [f64::from(fill(0xa)); 4]);
            // Upper bits of the shader's value don't count.
            let c = f.draw(screen(0.5, [0.0; 4]), unsigned([fill(0xc) | !(all as u32); 4]));
            c.extended.logic_op = Some(op);
            let image = f.render();
            let bytes = fill(nibble).to_le_bytes();
            let bytes = &bytes[..bits as usize / 8];
            assert!(
                image.colors[0].chunks(bytes.len()).all(|b| b == bytes),
                "{} {format}",
                op.name()
            );
        }
    }
    // 10, 10, 10 and 2 bits, and a mask.
    let mut f = Frame::new(
        TextureFormat::Rgb10a2Uint,
        [0x2aa.into(), 0x2aa.into(), 0x2aa.into(), 2.0],
    );
    let c = f.draw(screen(0.5, [0.0; 4]), unsigned([0x333, 0x333, 0x333, 1]));
    c.extended.logic_op = Some(LogicOperation::Xor);
    c.targets[0].write_mask = 0b1011;
    let word = u32::from_le_bytes(f.render().bytes(0, 3, 3));
    assert_eq!(word, 0x199 | 0x199 << 10 | 0x2aa << 20 | 3 << 30);
}

fn refused(change: impl Fn(&mut Call), fragment: Fragment, format: TextureFormat) -> String {
    let mut f = Frame::new(format, [0.0; 4]);
    let c = f.draw(screen(0.5, [0.0; 4]), fragment);
    change(c);
    match c.pipeline(&Interpreter, 1) {
        Ok(_) => panic!("it was accepted"),
        Err(e) => e.to_string(),
    }
}

/// R-OM-50: unsigned integers only, and no blending with them.
#[test]
fn r_om_50_needs_unsigned_integers() {
    let white = || Fragment::Constants(vec![[1.0; 4]]);
    let op = |c: &mut Call| c.extended.logic_op = Some(LogicOperation::And);
    assert!(refused(op, white(), TextureFormat::Rgba8Unorm).contains("R-OM-50"));
    let blend = |c: &mut Call| c.targets[0].blend = Some(BlendState::default());
    assert!(refused(blend, unsigned([1; 4]), TextureFormat::Rgba8Uint).contains("can't be blended"));
    // R-OM-38: the shader's kind must be the target's.
    assert!(refused(|_| (), white(), TextureFormat::Rgba8Uint).contains("takes u32"));
    assert!(refused(|_| (), unsigned([1; 4]), TextureFormat::Rgba8Sint).contains("takes i32"));
}

/// R-OM-40, R-PS-30: only target 0, alone, with a shader that has two outputs; R-OM-31: no colours for alpha in Direct3D.
#[test]
fn r_om_40_what_a_second_source_needs() {
    let format = TextureFormat::Rgba8Unorm;
    let second = |operation| BlendState {
        color: BlendComponent {
            operation,
            src_factor: BlendFactor::One,
            dst_factor: BlendFactor::Src1,
        },
        alpha: BlendComponent::default(),
    };
    let add = second(BlendOperation::Add);
    let one = Fragment::Constants(vec![[1.0; 4], [1.0; 4]]);
    let two = Fragment::Dual([1.0; 4], [0.5; 4]);
    let text = refused(|c| c.targets[0].blend = Some(add), one, format);
    assert!(text.contains("no such output"), "{text}");
    let text = refused(
        |c| {
            c.targets[0].blend = Some(add);
            c.targets.push(ColorTargetState::new(format));
        },
        two.clone(),
        format,
    );
    assert!(text.contains("only target"), "{text}");
    let color_for_alpha = |c: &mut Call| {
        c.rules = Rules::D3d11;
        c.targets[0].blend = Some(BlendState {
            color: BlendComponent::default(),
            alpha: BlendComponent {
                src_factor: BlendFactor::Dst,
                ..BlendComponent::default()
            },
        });
    };
    assert!(refused(color_for_alpha, two, format).contains("R-OM-31"));
}

/// R-OM-30: entry by entry, with different blending in each target.
#[test]
fn r_om_30_independent_blending() {
    let by = |operation, src_factor, dst_factor| BlendComponent {
        operation,
        src_factor,
        dst_factor,
    };
    let mut f = Frame {
        colors: vec![
            (TextureFormat::Rgba8Unorm, [0.5; 4]),
            (TextureFormat::Rgba32Float, [0.5; 4]),
            (TextureFormat::Rgba8Unorm, [0.5; 4]),
        ],
        ..Frame::new(TextureFormat::Rgba8Unorm, [0.0; 4])
    };
    let c = f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![[2.0; 4]; 3]));
    let add = by(BlendOperation::Add, BlendFactor::One, BlendFactor::One);
    let zero = by(BlendOperation::ReverseSubtract, BlendFactor::Zero, BlendFactor::One);
    c.targets[0].blend = Some(BlendState {
        color: add,
        alpha: zero,
    });
    c.targets[1].blend = Some(BlendState {
        color: add,
        alpha: zero,
    });
    let image = f.render();
    // REQ-O4, R-OM-32: the source is clamped for the first target alone.
    assert_eq!(image.rgba8(0, 3, 3), [255, 255, 255, 128]);
    let float: [u8; 16] = image.bytes(1, 3, 3);
    assert_eq!(float[..4], 2.5f32.to_le_bytes());
    assert_eq!(float[12..], 0.5f32.to_le_bytes());
    assert_eq!(image.rgba8(2, 3, 3), [255; 4]);
}
