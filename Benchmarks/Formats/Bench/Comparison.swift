import Shapes
import WireFormats

/// What one row of the goals came to, shape by shape.
struct Comparison {
    let goal: Goal
    private(set) var results: [(shape: String, ratio: Double, megabytesPerSecond: Double)] = []

    init(_ goal: Goal, on shapes: [EncodedShape]) throws {
        self.goal = goal
        for shape in shapes {
            let peer = try goal.peer.prepare(shape)
            let taken = try Stopwatch().compare({ try goal.work.pass(shape) }, peer)
            let bytes = shape[goal.work.format].reduce(0) { $0 + $1.count }
            results.append((shape.shape.name, taken.peer / taken.ours, Double(bytes) / taken.ours / 1e6))
        }
    }

    var worst: Double { results.map(\.ratio).min() ?? 0 }

    var verdict: String {
        if worst < goal.floor { return "**below the floor**" }
        return worst < goal.goal ? "floor" : "goal"
    }
}
