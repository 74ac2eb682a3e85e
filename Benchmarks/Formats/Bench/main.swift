import Foundation
import Shapes

// Measures every row of the goals (or those whose work or peer the first argument names) and prints the report.
let wanted = CommandLine.arguments.dropFirst().first
let goals = Goal.all.filter { goal in
    wanted.map { goal.work.name.contains($0) || goal.peer.name.contains($0) } ?? true
}
let shapes = try Shape.all.map { try EncodedShape($0) }
let comparisons = try goals.map { goal in
    FileHandle.standardError.write(Data("\(goal.work.name) against \(goal.peer.name)\n".utf8))
    return try Comparison(goal, on: shapes)
}
print(Report(shapes: shapes, comparisons: comparisons).text)
