//! The statements of a group, put together into one text per kind of group.

use super::group::Group;
use crate::durability::Relaxed;

macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../sql/", $name, ".sql"))
    };
}

/// The text that executes a group in one transaction: one call to the database, whatever the group holds. There are
/// few kinds of groups, so each text is prepared once. `marks_may_come_late`: a row was settled before the mark of one of
/// its handlers. `relaxed`: the disk is not waited for.
pub(super) fn text(group: &Group, marks_may_come_late: bool, relaxed: Option<Relaxed>) -> String {
    let mut text = String::with_capacity(16 * 1024);
    let mut add = |statements: &[&str]| statements.iter().for_each(|statement| text.push_str(statement));
    add(&[relaxed.map_or("", |relaxed| relaxed.before), "BEGIN IMMEDIATE;\n"]);
    if !group.renewals.is_empty() {
        add(&[sql!("renew"), sql!("renew_result")]);
    }
    if !group.extensions.is_empty() {
        add(&[sql!("extend")]);
    }
    let (done, other) = group.kinds_of_changes();
    if done {
        add(&[sql!("change_done"), sql!("change_result")]);
    }
    if other {
        add(&[sql!("change"), sql!("change_result")]);
    }
    // Marks whose rows were settled before them are rare; only then is every change looked up in the queue.
    let marks_come_late = marks_may_come_late && !group.changes.is_empty();
    if group.settling().is_some() || marks_come_late {
        add(&[sql!("clear_touched")]);
        if group.settling().is_some() {
            add(&[sql!("settle_touched")]);
        }
        if group.gives_up() {
            add(&[sql!("settle_dead"), sql!("settle_dead_claims")]);
        }
        if group.settling().is_some_and(|subscriber| !subscriber.grants) {
            add(&[sql!("settle_plain")]);
        } else {
            add(&[sql!("settle_done")]);
            if marks_come_late {
                add(&[sql!("change_touched")]);
            }
            add(&[sql!("requeue_others"), sql!("requeue"), sql!("settle_early")]);
        }
        add(&[sql!("wake_key"), sql!("wakes")]);
    }
    if !group.progressed.is_empty() {
        add(&[sql!("clear_touched"), sql!("progress_touched"), sql!("wake_key"), sql!("wakes")]);
    }
    if !group.enqueues.is_empty() {
        add(&[sql!("enqueue_many")]);
    }
    if group.receive.is_some() || !group.claims.is_empty() {
        add(&[sql!("clear_candidates")]);
    }
    if let Some((request, _)) = &group.receive {
        add(&[
            sql!("receive_fresh"),
            sql!("receive_due_again"),
            sql!("receive_expired"),
            sql!("receive_ids"),
        ]);
        if relaxed.is_some() {
            add(&[sql!("receive_ids_result")]);
        }
        if request.subscriber.grants {
            add(&[
                sql!("receive_pairs"),
                sql!("clear_touched"),
                sql!("receive_touched"),
                sql!("receive_cut"),
                sql!("receive_rows"),
            ]);
        } else {
            add(&[
                sql!("receive_plain"),
                sql!("clear_touched"),
                sql!("receive_plain_park"),
                sql!("receive_cut"),
                sql!("receive_rows"),
            ]);
        }
    }
    if !group.claims.is_empty() {
        add(&[sql!("claim_pairs")]);
    }
    if group.grants() {
        add(&[sql!("claim_lost"), sql!("claim_grant")]);
    }
    if let Some((request, _)) = &group.receive {
        if request.subscriber.grants {
            add(&[sql!("requeue_others"), sql!("requeue"), sql!("settle_early")]);
            add(&[sql!("receive_lost"), sql!("wake_key")]);
        }
        add(&[sql!("receive_result")]);
    }
    if !group.claims.is_empty() {
        add(&[sql!("claim_result")]);
    }
    add(&["COMMIT;\n", relaxed.map_or("", |relaxed| relaxed.after)]);
    text
}
