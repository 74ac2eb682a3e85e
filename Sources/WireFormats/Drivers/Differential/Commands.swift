import AdapterKit
import Foundation
import WireFormatTesting
import WireFormats

func generate(_ plan: Plan, into folder: String) throws {
    let frames = try FrameWriter(path: "\(folder)/\(plan.format.name).frames")
    let expected = "\(folder)/\(plan.format.name).expected"
    guard FileManager.default.createFile(atPath: expected, contents: nil) else { fail("cannot write \(expected)") }
    let lines = try FileHandle(forWritingTo: URL(fileURLWithPath: expected))
    for number in 0..<plan.documents {
        let value = plan.document(number)
        try frames.write(try plan.format.write(value))
        try lines.write(contentsOf: Data((tagged(plan.format.traits.expectation(of: value)) + "\n").utf8))
    }
}

/// Reads another implementation's documents and says what they hold.
func tag(_ plan: Plan, _ path: String) throws {
    let frames = try FrameReader(path: path)
    let target = path + ".tagged"
    guard FileManager.default.createFile(atPath: target, contents: nil) else { fail("cannot write \(target)") }
    let lines = try FileHandle(forWritingTo: URL(fileURLWithPath: target))
    while let document = try frames.next() {
        try lines.write(contentsOf: Data((tagged(try plan.format.read(document)) + "\n").utf8))
    }
}
