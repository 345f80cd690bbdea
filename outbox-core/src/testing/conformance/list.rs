//! The list of cases, and the macro that makes a test of each.

/// Runs the [conformance suite](crate::testing::conformance) against a backend: one test per case, in a module per theme.
/// `outbox_core::conformance_tests!(MyBackend);` is all; the suite's page shows how a backend is opened.
#[macro_export]
macro_rules! conformance_tests {
    ($backend:ty) => {
        $crate::__conformance_theme! {
            $backend, claims:
            of_racing_claims_one_is_granted,
            claims_of_other_handlers_and_events_are_independent,
            an_attempt_is_counted_when_it_is_claimed,
            a_living_lease_keeps_everybody_out,
            an_expired_lease_is_taken_over,
            a_renewed_lease_is_not_taken_over,
            an_expired_claim_that_nobody_took_is_still_ours,
            started_at_grows_whatever_the_clock_does,
            a_stale_owner_changes_nothing,
            an_earlier_claim_of_the_same_worker_is_stale,
            a_claim_that_does_not_exist_is_lost,
            done_is_final,
            after_done_its_own_token_may_repeat_itself,
            a_repeated_release_changes_nothing,
            a_released_claim_is_held_until_it_is_due,
            a_refunded_attempt_does_not_count,
            dead_is_final,
            a_handler_that_kills_its_worker_every_time_gives_up,
            the_lost_worker_comes_back_too_late,
            fewer_attempts_than_were_spent_are_used_up,
        }
        $crate::__conformance_theme! {
            $backend, delivery:
            an_event_arrives_as_it_was_enqueued,
            a_payload_arrives_byte_for_byte,
            a_duplicate_id_is_reported_and_delivered_once,
            a_batch_reports_each_of_its_events,
            an_invalid_event_is_refused_and_nothing_is_written,
            a_published_event_is_delivered_once,
            events_come_in_the_order_of_their_due_times,
            an_event_in_hand_is_nobody_elses,
            racing_workers_share_the_events,
            an_event_whose_worker_died_comes_again_after_the_lease,
            an_extended_event_stays_in_hand,
            a_stale_receipt_is_ignored,
            one_bad_receipt_does_not_fail_its_batch,
            max_counts_handler_runs,
            a_delayed_event_comes_when_it_is_due,
            an_event_due_in_the_past_comes_at_once,
            what_is_due_or_done_is_not_foretold,
            enqueueing_wakes_who_waits,
        }
        $crate::__conformance_theme! {
            $backend, retries:
            a_failed_event_comes_again_on_schedule,
            each_handler_is_due_at_its_own_time,
            a_retry_runs_only_what_has_not_finished,
            settlement_and_ledger_mark_may_come_in_any_order,
            an_event_whose_settlement_was_lost_ends_without_a_run,
            an_event_whose_worker_died_half_way_runs_the_rest,
            an_event_that_kills_its_workers_is_dead_lettered,
            an_attempt_that_was_lost_with_its_worker_is_told,
            what_is_given_back_unstarted_spends_no_attempt,
            failing_events_keep_no_others_waiting,
            an_event_that_was_handled_elsewhere_is_done_without_a_run,
            a_handler_that_still_runs_hides_no_other,
        }
        $crate::__conformance_theme! {
            $backend, order:
            events_of_a_key_come_one_after_the_other,
            the_order_of_a_key_holds_across_workers,
            a_dead_worker_does_not_break_the_order,
            a_failed_handler_holds_back_only_itself,
            a_slow_handler_holds_back_only_itself,
            the_order_spans_the_types_of_a_handler,
            a_delayed_event_holds_back_later_ones_of_its_key,
            after_a_dead_letter_the_key_goes_on,
            a_blocked_key_waits_and_nothing_else_does,
            an_event_given_up_as_a_whole_blocks_for_those_that_block,
            an_event_that_others_gave_up_does_not_hide_those_before_it,
            a_binary_that_lags_holds_back_no_other,
            a_handler_that_was_lost_with_its_worker_lets_the_key_go_on,
            an_event_does_not_wait_for_one_that_waits_for_another_binary,
            redriving_unblocks_a_key_in_order,
            discarding_unblocks_a_key,
        }
        $crate::__conformance_theme! {
            $backend, handlers:
            an_event_waits_for_the_handlers_of_other_binaries,
            waiting_for_another_binary_is_visible,
            an_event_whose_handler_is_gone_is_visible,
            a_retry_does_not_wait_for_another_binary,
            another_binary_does_not_wait_for_a_retry,
            binaries_that_share_a_handler_run_it_once,
            a_forgotten_handler_is_waited_for_no_more,
            a_forgotten_handler_holds_back_nothing_of_its_key,
            a_forgotten_handler_that_knew_too_little_is_waited_for_no_more,
            a_forgotten_handler_that_still_runs_is_waited_for_no_more,
            what_a_forgotten_handler_gave_up_does_not_make_an_event_dead,
            events_of_a_type_whose_last_handler_is_forgotten_wait_for_any,
            an_event_in_hand_whose_last_handler_is_forgotten_is_not_done,
            a_new_handler_gets_what_is_not_finished,
            a_new_handler_gets_what_others_hold_back,
            a_new_handler_does_not_wait_for_one_that_still_runs,
            a_newer_version_waits_for_a_newer_worker,
            each_handler_runs_the_versions_that_it_knows,
            a_pattern_takes_every_type_that_fits,
            a_newer_worker_does_not_wait_for_another_binary,
            a_pattern_gets_events_that_waited_for_their_version,
        }
        $crate::__conformance_theme! {
            $backend, unhandled:
            a_type_that_nobody_handles_waits_for_a_deploy,
            a_type_that_nobody_handles_can_be_discarded,
            a_type_that_nobody_handles_can_be_dead_lettered,
            a_delayed_event_of_a_type_that_nobody_handles_is_not_ended_early,
        }
        $crate::__conformance_theme! {
            $backend, dead_letters:
            a_dead_letter_tells_what_happened,
            dead_letters_are_listed_oldest_first,
            a_filter_selects_by_each_of_its_fields,
            a_redrive_runs_only_the_dead_handlers_with_fresh_attempts,
            a_redrive_works_before_the_event_is_finished,
            a_discarded_dead_letter_is_gone_for_good,
            a_discard_is_told_with_its_reason,
            a_redrive_is_told,
            discarding_leaves_the_event_to_the_other_handlers,
            an_event_can_be_dead_lettered_as_a_whole,
            nothing_is_left_of_an_event_that_is_discarded,
            giving_up_an_event_ends_no_claim_of_others,
        }
        $crate::__conformance_theme! {
            $backend, retention:
            finished_things_go_when_their_time_is_over,
            dead_letters_keep_their_ledger_rows,
            nothing_unfinished_is_ever_pruned,
            a_pruned_dead_letter_lets_its_key_go_on,
            pruning_leaves_no_claim_of_an_event_that_is_gone,
            upkeep_prunes,
        }
        $crate::__conformance_theme! {
            $backend, status:
            status_counts_events_per_type_and_state,
            an_empty_store_has_an_empty_status,
            upkeep_measures_the_backlog,
            the_backlog_is_as_old_as_its_oldest_event_is_due,
            a_deploy_makes_nothing_due_that_is_not,
            listed_handlers_tell_when_they_were_seen,
            explain_shows_how_far_each_handler_is,
            explain_tells_a_timeline,
            explain_tells_when_a_delayed_event_is_due,
            delayed_events_are_counted_as_waiting,
            explain_tells_until_when_an_event_is_in_hand,
        }
        $crate::__conformance_theme! {
            $backend, histories:
            any_history_keeps_the_promises,
        }
        $crate::__conformance_theme! {
            $backend, foreign:
            a_foreign_row_is_delivered,
            a_foreign_row_keeps_the_id_it_gets,
            equal_foreign_rows_are_different_events,
            a_payload_that_is_not_json_does_not_fail_its_batch,
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_theme {
    ($backend:ty, $theme:ident: $($case:ident,)*) => {
        mod $theme {
            #[allow(unused_imports, reason = "the backend may be named by its full path")]
            use super::*;
            $(
                #[test]
                fn $case() {
                    $crate::testing::conformance::check::<$backend, _, _>(
                        concat!(stringify!($theme), "::", stringify!($case)),
                        $crate::testing::conformance::$theme::$case,
                    );
                }
            )*
        }
    };
}

#[cfg(test)]
mod tests {
    /// Every theme, with its source and with this list of what runs.
    #[test]
    fn every_case_is_in_the_list() {
        let list = include_str!("list.rs");
        let themes = [
            include_str!("claims.rs"),
            include_str!("delivery.rs"),
            include_str!("retries.rs"),
            include_str!("order.rs"),
            include_str!("handlers.rs"),
            include_str!("unhandled.rs"),
            include_str!("dead_letters.rs"),
            include_str!("retention.rs"),
            include_str!("status.rs"),
            include_str!("foreign.rs"),
            include_str!("histories.rs"),
        ];
        let cases = themes
            .iter()
            .flat_map(|source| source.lines().filter_map(|line| line.strip_prefix("pub async fn ")));
        for case in cases {
            let name = case.split('(').next().unwrap_or_default();
            assert!(list.contains(&format!("            {name},\n")), "{name} would never run");
        }
    }
}
