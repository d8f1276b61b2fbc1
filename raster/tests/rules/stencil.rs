//! Stencil (R-OM-20 to R-OM-24).

use super::support::*;
use quadrille_raster::format::TextureFormat;
use quadrille_raster::pipeline::{CompareFunction, FrontFace, StencilFaceState, StencilOperation};

fn frame(stencil: u32) -> Frame {
    let depth = Some((TextureFormat::Depth24PlusStencil8, 0.5, stencil));
    Frame {
        depth,
        ..Frame::new(TextureFormat::R8Unorm, [0.0; 4])
    }
}

fn both(call: &mut Call, face: StencilFaceState) {
    call.ds().stencil_front = face;
    call.ds().stencil_back = face;
}

fn white() -> Fragment {
    Fragment::Constants(vec![[1.0; 4]])
}

/// The worked values of section 2.
#[test]
fn r_om_23_operations() {
    use StencilOperation::*;
    for (op, expected) in [
        (Keep, [255, 0, 1]),
        (Zero, [0, 0, 0]),
        (Replace, [0x5a; 3]),
        (IncrementClamp, [255, 1, 2]),
        (DecrementClamp, [254, 0, 0]),
        (Invert, [0, 255, 254]),
        (IncrementWrap, [0, 1, 2]),
        (DecrementWrap, [254, 255, 0]),
    ] {
        for (old, expected) in [255, 0, 1].into_iter().zip(expected) {
            let mut f = frame(old);
            let c = f.draw(screen(0.25, [0.0; 4]), white());
            c.stencil_reference = 0x5a;
            both(
                c,
                StencilFaceState {
                    pass_op: op,
                    ..StencilFaceState::default()
                },
            );
            assert_eq!(f.render().stencil(5, 5), expected, "{op:?} of {old}");
        }
    }
    let mut f = frame(0xa5);
    let c = f.draw(screen(0.25, [0.0; 4]), white());
    c.stencil_reference = 0x5a;
    c.ds().stencil_write_mask = 0x0f;
    both(
        c,
        StencilFaceState {
            pass_op: Replace,
            ..StencilFaceState::default()
        },
    );
    assert_eq!(f.render().stencil(5, 5), 0xaa);
}

#[test]
fn r_om_21_comparison_through_the_read_mask() {
    use CompareFunction::*;
    for (compare, less, equal, greater) in [
        (Never, false, false, false),
        (Less, true, false, false),
        (Equal, false, true, false),
        (LessEqual, true, true, false),
        (Greater, false, false, true),
        (NotEqual, true, false, true),
        (GreaterEqual, false, true, true),
        (Always, true, true, true),
    ] {
        // Reference against a stored 0x85 under mask 0x0f.
        for (reference, expected) in [(0xf3, less), (0x15, equal), (0x07, greater)] {
            let mut f = frame(0x85);
            let c = f.draw(screen(0.25, [0.0; 4]), white());
            c.stencil_reference = reference;
            c.ds().stencil_read_mask = 0x0f;
            both(
                c,
                StencilFaceState {
                    compare,
                    ..StencilFaceState::default()
                },
            );
            assert_eq!(f.render().r8(3, 9) == 255, expected, "{compare:?} {reference:#x}");
        }
    }
}

#[test]
fn r_om_22_which_operation_happens() {
    let face = StencilFaceState {
        compare: CompareFunction::Equal,
        fail_op: StencilOperation::Zero,
        depth_fail_op: StencilOperation::IncrementClamp,
        pass_op: StencilOperation::Invert,
    };
    for (reference, z, expected, drawn) in [(7, 0.25, !7u8, 255), (7, 0.75, 8, 0), (6, 0.25, 0, 0), (6, 0.75, 0, 0)] {
        let mut f = frame(7);
        let c = f.draw(screen(z, [0.0; 4]), white());
        c.stencil_reference = reference;
        c.ds().depth_compare = CompareFunction::Less;
        c.ds().depth_write_enabled = true;
        both(c, face);
        let image = f.render();
        assert_eq!((image.stencil(1, 2), image.r8(1, 2)), (expected, drawn));
        assert_eq!(image.depth(1, 2) == 0x40_0000, drawn == 255);
    }
}

/// What a failed depth test does to the stencil waits for the shader: discarded fragments do nothing.
#[test]
fn r_ps_42_discarded_fragments_leave_the_stencil_alone() {
    let face = StencilFaceState {
        depth_fail_op: StencilOperation::IncrementClamp,
        pass_op: StencilOperation::Invert,
        ..StencilFaceState::default()
    };
    for (z, kept) in [(0.25, !7u8), (0.75, 8)] {
        let mut f = frame(7);
        let mut vertices = screen(z, [0.0; 4]);
        for (position, attribute) in &mut vertices {
            // Negative left of x = 9, in whole quads and within one.
            attribute[0] = (position[0] + 1.0) * 8.0 - 9.0;
        }
        let c = f.draw(vertices, Fragment::Discard);
        c.ds().depth_compare = CompareFunction::Less;
        both(c, face);
        let image = f.render();
        for (x, expected) in [(0, 7), (7, 7), (8, 7), (9, kept), (10, kept), (15, kept)] {
            assert_eq!(image.stencil(x, 2), expected, "x {x}, z {z}");
        }
    }
}

#[test]
fn r_om_21_faces_have_their_own_state() {
    for (front_face, expected) in [(FrontFace::Cw, 1), (FrontFace::Ccw, 2)] {
        let mut f = frame(0);
        let c = f.draw(screen(0.25, [0.0; 4]), white());
        c.primitive.front_face = front_face;
        c.stencil_reference = 1;
        c.ds().stencil_front = StencilFaceState {
            pass_op: StencilOperation::Replace,
            ..StencilFaceState::default()
        };
        c.ds().stencil_back = StencilFaceState {
            pass_op: StencilOperation::IncrementWrap,
            ..StencilFaceState::default()
        };
        let c2 = c.clone();
        f.calls.push(c2);
        assert_eq!(f.render().stencil(8, 8), expected);
    }
}

/// Even-odd fill: overlapping triangles invert, then only odd pixels are painted.
#[test]
fn stencil_masks_later_draws() {
    let mut f = frame(0);
    for x in [0.0, 4.0] {
        let c = f.draw(
            quad(x, 0.0, x + 8.0, 16.0, 0.25, [0.0; 4]),
            Fragment::Constants(vec![[0.0; 4]]),
        );
        c.ds().stencil_write_mask = 1;
        both(
            c,
            StencilFaceState {
                pass_op: StencilOperation::Invert,
                ..StencilFaceState::default()
            },
        );
    }
    let c = f.draw(screen(0.25, [0.0; 4]), white());
    c.stencil_reference = 1;
    both(
        c,
        StencilFaceState {
            compare: CompareFunction::Equal,
            ..StencilFaceState::default()
        },
    );
    let image = f.render();
    let row: Vec<u8> = (0..16).map(|x| image.r8(x, 6)).collect();
    assert_eq!(row, [255, 255, 255, 255, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0]);
}
