import Foundation
import WireFormats

// wire-verdict FORMAT < FRAMES
//     reads documents, each led by its length as eight big-endian bytes, and says of each on a line what became of it:
//     `ok` and the document as JSON where it has a JSON form, or the kind of the error
//
// One process for all documents; compare.py beside this file asks other parsers the same.

@main
enum WireVerdict {
    static func main() throws {
        guard CommandLine.arguments.count == 2, let name = FormatName(CommandLine.arguments[1]),
            let format = FormatCatalogue.conversion[name]
        else { fatalError("usage: wire-verdict FORMAT") }
        let input = [UInt8](FileHandle.standardInput.readDataToEndOfFile())
        var position = 0
        while position + 8 <= input.count {
            let length = input[position..<position + 8].reduce(0) { $0 << 8 | Int($1) }
            print(verdict(Array(input[position + 8..<position + 8 + length]), format))
            position += 8 + length
        }
    }

    private static func verdict(_ document: [UInt8], _ format: any WireFormat) -> String {
        do throws(WireFormatError) {
            let tape = try format.readTape(document, limits: ReadingLimits())
            let json = try? JSONFormat().write(tape)
            return "ok " + String(decoding: json ?? [], as: UTF8.self)
        } catch {
            guard error.position != nil else { return "error without a position" }
            return "\(error.kind) \(error)"
        }
    }
}
