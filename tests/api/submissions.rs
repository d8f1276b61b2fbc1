//! Submissions: outputs, order, progress, cancelling, loop budget.

use super::support::*;
use quadrille::*;

#[test]
fn outputs_go_to_the_callers_memory_with_a_stride() {
    let f = Fill::new();
    let (commands, drawn) = f.pass(|pass| {
        f.set_all(pass)?;
        pass.draw(0..3, 0..1)
    });
    drawn.expect("recorded");
    let mut bytes = vec![7; 8 * 40];
    let options = SubmitOptions {
        outputs: vec![OutputSlice {
            texture: &f.target,
            bytes: &mut bytes,
            bytes_per_row: 40,
        }],
        ..SubmitOptions::default()
    };
    f.device.queue().submit_with([commands], options).expect("runs");
    assert_eq!(
        &bytes[28..44],
        [255, 128, 0, 255, 7, 7, 7, 7, 7, 7, 7, 7, 255, 128, 0, 255]
    );
}

#[test]
fn later_calls_wait_for_asynchronous_submissions() {
    let f = Fill::new();
    let (commands, drawn) = f.pass(|pass| {
        f.set_all(pass)?;
        pass.draw(0..3, 0..1)
    });
    drawn.expect("recorded");
    let submission = f.device.queue().submit_async([commands]).expect("starts");
    // Reading waits: it comes later.
    assert_eq!(f.pixel(0, 0), [255, 128, 0, 255]);
    assert_eq!(submission.wait().expect("done").draws, 1);
}

#[test]
fn a_cancelled_submission_says_so() {
    let f = Fill::new();
    let (commands, drawn) = f.pass(|pass| {
        f.set_all(pass)?;
        pass.draw(0..3, 0..1)
    });
    drawn.expect("recorded");
    let flag = CancelFlag::new();
    flag.cancel();
    let options = SubmitOptions {
        cancel: Some(&flag),
        ..SubmitOptions::default()
    };
    let ended = f.device.queue().submit_with([commands], options);
    assert!(matches!(ended, Err(SubmitError::Cancelled)), "{ended:?}");
}

#[test]
fn an_endless_loop_ends_and_can_be_cancelled_before() {
    let device = Device::new(&DeviceDescriptor {
        loop_budget: 1000,
        threads: std::num::NonZeroUsize::new(2),
        ..DeviceDescriptor::default()
    })
    .expect("a device");
    let module = module(
        &device,
        "@vertex fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
             return vec4f(f32(i & 1u) * 4.0 - 1.0, f32(i >> 1u) * 4.0 - 1.0, 0.0, 1.0);
         }
         @fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {
             var x = p.x;
             loop {
                 x += 1.0;
                 if x < 0.0 { break; }
             }
             return vec4f(x);
         }",
    );
    let targets = [Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))];
    let pipeline = device
        .create_render_pipeline(&RenderPipelineDescriptor {
            label: Some("endless"),
            ..RenderPipelineDescriptor::new(
                VertexState::new(&module, "vs", &[]),
                Some(FragmentState::new(&module, "fs", &targets)),
            )
        })
        .expect("a pipeline");
    let target = target(&device, "target", TextureFormat::Rgba8Unorm, 1);
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    let mut pass = encoder
        .begin_render_pass(&RenderPassDescriptor {
            label: Some("pass"),
            color_attachments: &[Some(RenderPassColorAttachment::new(&view(&target)))],
            ..RenderPassDescriptor::default()
        })
        .expect("a pass");
    pass.set_pipeline(&pipeline).expect("fits");
    pass.draw(0..3, 0..1).expect("recorded");
    pass.end();
    says(
        device.queue().submit([encoder.finish()]),
        &["'pass'", "'endless'", "test.wgsl:6", "1000"],
    );
}
