/// The pause in which another system is left alone after failures in a row: twice as long after each, up to a longest one.
struct Backoff {
    /// In seconds, after the first failure.
    let first: Double
    /// In seconds.
    let longest: Double

    /// From half of the doubled pause to all of it, so that many do not come back together. `failures`: those before this
    /// one; `random`: from 0 to 1.
    func seconds(after failures: Int, random: Double) -> Double {
        var pause = first
        for _ in 0..<min(failures, 10) { pause = min(pause * 2, longest) }
        return pause * (0.5 + random / 2)
    }
}
