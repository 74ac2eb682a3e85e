/// The known name that a mistyped one most likely means.
public enum NearestName {
    /// Nil where none is near: up to two mistakes, or one for every three letters.
    public static func of(_ wrong: String, among known: some Sequence<String>) -> String? {
        let ranked = known.map { (name: $0, distance: distance(wrong.lowercased(), $0.lowercased())) }
        let best = ranked.min { ($0.distance, $0.name) < ($1.distance, $1.name) }
        return best.flatMap { $0.distance <= max(2, wrong.count / 3) ? $0.name : nil }
    }

    /// The same as a sentence that follows another: ` Did you mean notes?`, or nothing. Nothing too for a name that is too long
    /// to be one.
    public static func sentence(_ wrong: String, among known: some Sequence<String>) -> String {
        guard wrong.utf8.count <= longest, let near = of(wrong, among: known) else { return "" }
        return " Did you mean \(near)?"
    }

    private static let longest = 64

    /// Damerau's and Levenshtein's, in which two letters that have changed places are one mistake (optimal string alignment).
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var rows = [Array(0...right.count)]
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                var least = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    least = min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
