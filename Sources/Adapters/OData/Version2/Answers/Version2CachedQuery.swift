/// What is known of a question of version 2 beside what both versions know: how its answer looks to a caller who accepts
/// this, and what all rows of such answers have in common.
struct Version2CachedQuery: Sendable {
    let format = Memo<String?, any Version2Format>()
    let rows = Memo<String, any Version2Rows>()
}
