//! One suite, run unchanged on every executor: results are equal to the bit (law L1).
//!
//! Expected values come from `ir::eval` and from plain Rust, never from another executor. (`native::fuzz` compares
//! executors on generated programs.)
#![expect(clippy::needless_range_loop, reason = "a row indexes several columns at once")]

mod suite;

/// Makes a test of every case for every executor.
macro_rules! on_every_executor {
    ($($module:ident :: $case:ident,)*) => {
        mod interp {
            $(#[test] fn $case() { crate::suite::$module::$case(&crate::suite::interpreter()); })*
        }
        mod jit_widest {
            $(#[test] fn $case() { crate::suite::native(0, crate::suite::$module::$case); })*
        }
        mod jit_4_lanes {
            $(#[test] fn $case() { crate::suite::native(1, crate::suite::$module::$case); })*
        }
        mod jit_baseline {
            $(#[test] fn $case() { crate::suite::native(2, crate::suite::$module::$case); })*
        }
    };
}

on_every_executor! {
    alu::float_operations,
    alu::integer_operations,
    alu::conversions_and_selects,
    alu::expanded_operations,
    quad::every_quad_operation,
    quad::inactive_lanes_hold_their_last_value,
    control::nested_ifs,
    control::lanes_leave_loops_one_by_one,
    control::exits_through_several_levels,
    control::both_sides_leave,
    control::breaks_before_a_fall,
    control::switches_fall_through,
    control::blocks_and_early_returns,
    control::break_if_sees_the_continuing_block,
    control::uniform_and_divergent_flow_mix,
    control::deep_nesting,
    control::budgets_count_iterations_per_lane,
    control::unmerged_writes,
    memory::locals_and_arrays_start_anew,
    memory::arrays_clamp_and_mask,
    memory::buffers_are_bounded,
    memory::atomics_go_lane_by_lane,
    memory::lanes_take_turns_in_one_order,
    memory::binding_arrays_select_per_lane,
    textures::samples_get_their_operands,
    textures::comparisons_side_by_side,
    textures::texels_load_and_store,
    textures::queries_read_the_info,
    textures::binding_arrays_sample_per_lane,
    fragment::tiles_are_read_and_written_in_place,
    fragment::stores_are_subject_to_the_active_mask,
    fragment::rates_and_coverage,
    fragment::wide_pairs,
    fragment::discard_and_helpers,
    fragment::empty_quads_do_nothing,
    fragment::cancel_ends_the_call,
    refusals::other_kinds_are_named,
    refusals::barriers_are_named,
    refusals::what_passes_remove_is_an_error,
}
