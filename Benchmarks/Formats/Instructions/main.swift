import Shapes
import WireFormats

// One pass of every work on every shape, each inside `measured_pass`, for callgrind to count (Benchmarks/instructions.py).
// Prints what was passed, in order: the work, the shape, and the bytes that the figures are divided by.
for shape in Shape.all {
    let encoded = try EncodedShape(shape)
    for work in OurWork.all {
        current = { try work.pass(encoded) }
        _ = try current()  // what happens once only is not counted
        guard measuredPass() != 0 else { fatalError("\(work.name) on \(shape.name) did nothing") }
        print(work.name, shape.name, encoded[work.format].reduce(0) { $0 + $1.count }, separator: "\t")
    }
}
