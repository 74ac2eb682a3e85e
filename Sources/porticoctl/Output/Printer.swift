import ArgumentParser
import CommandLineSupport
import Foundation
import ValueTree
import WireFormats

/// Shows results: JSON as it came, or a table.
struct Printer {
    /// For people, where a list has nothing.
    static let nothing = "There are none."

    let style: OutputStyle

    /// `empty`: for people, where a list has nothing.
    func show(
        _ value: WireValue, columns: [String]? = nil, list: String? = nil, empty: String = nothing
    ) throws {
        try show(value) { text(value, columns: columns, list: list, empty: empty) }
    }

    /// The value for programs, `words` for people.
    func show(_ value: WireValue, words: () -> String) throws {
        switch style {
        case .json: write(try JSONFormat().write(value, options: WritingOptions(layout: .pretty)))
        case .text: write(Array(words().utf8))
        }
    }

    /// For commands whose result is that they succeeded.
    func reportDone(_ message: String) throws {
        switch style {
        case .json: write(try JSONFormat().write(["done": true]))
        case .text: write(Array(message.utf8))
        }
    }

    private func text(_ value: WireValue, columns: [String]?, list: String?, empty: String) -> String {
        if let columns, let rows = (list.flatMap { value[$0] } ?? value).arrayValue {
            return rows.isEmpty ? empty : Table(columns: columns, rows: rows).text
        }
        return Self.lines(value, indentation: 0).joined(separator: "\n")
    }

    private static func lines(_ value: WireValue, indentation: Int) -> [String] {
        let margin = String(repeating: " ", count: indentation)
        switch value {
        case .dictionary(let members):
            return members.flatMap { member -> [String] in
                if let figure = Figure(member.key, member.value) {
                    return ["\(margin)\(figure.name.visible): \(figure.words)"]
                }
                if let word = member.value.word { return ["\(margin)\(member.key.visible): \(word)"] }
                return ["\(margin)\(member.key.visible):"] + lines(member.value, indentation: indentation + 2)
            }
        case .array(let items):
            return items.flatMap { item in
                item.word.map { ["\(margin)- \($0)"] } ?? ["\(margin)-"] + lines(item, indentation: indentation + 2)
            }
        default: return [margin + (value.word ?? "")]
        }
    }

    private func write(_ bytes: [UInt8]) {
        FileHandle.standardOutput.write(Data(bytes + [0x0A]))
    }
}

/// A number whose name says its unit, as people read it: `uptimeSeconds` is `uptime`, `2 d 3 h`.
private struct Figure {
    let name: String
    let words: String

    init?(_ name: String, _ value: WireValue) {
        guard let number = value.doubleValue else { return nil }
        self.name = Self.name(name)
        if name.hasSuffix(Self.seconds) {
            words = Figures.duration(number)
        } else if name == "bytes" || name.hasSuffix("Bytes"), let bytes = value.int64Value {
            words = Figures.bytes(bytes)
        } else {
            return nil
        }
    }

    private static let seconds = "Seconds"

    /// Without a unit that the words say.
    static func name(_ name: String) -> String {
        name.hasSuffix(seconds) ? String(name.dropLast(seconds.count)) : name
    }
}

extension WireValue {
    /// A value that fits on a line; nil for others.
    var word: String? {
        switch self {
        case .null: return "-"
        case .string(let text): return text.visible
        case .bool(let flag): return flag ? "yes" : "no"
        case .int64(let number): return String(number)
        case .uint64(let number): return String(number)
        case .double(let number): return number.description
        case .date(let date): return date.rfc3339
        case .array(let items):
            let words = items.compactMap(\.stringValue)
            return words.count == items.count ? words.map(\.visible).joined(separator: ", ") : nil
        default: return nil
        }
    }
}

extension WireValue {
    /// Counts by name on a line, such as `2 applied, 1 rejected`; nil for what is none.
    fileprivate var counts: String? {
        guard case .dictionary(let members) = self else { return nil }
        let counts = members.compactMap { member in member.value.int64Value.map { "\($0) \(member.key.visible)" } }
        return counts.count == members.count ? counts.joined(separator: ", ") : nil
    }
}

extension String {
    /// As a terminal may show it: what would move the cursor, colour the screen, or reorder or hide other characters is
    /// escaped. `--output json` has the text as it is.
    var visibleLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).visible }.joined(separator: "\n")
    }

    /// The same on one line.
    var visible: String {
        unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

/// Columns of equal width under their names.
struct Table {
    let columns: [String]
    let rows: [WireValue]
    var style = TextStyle.output

    var text: String {
        let cells =
            [columns.map { Figure.name($0).uppercased() }]
            + rows.map { row in
                columns.map { column in
                    row[column].flatMap { Figure(column, $0)?.words ?? $0.word ?? $0.counts } ?? ""
                }
            }
        let widths = columns.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        var lines = cells.map { line($0, widths) }
        lines[0] = style(.bold, lines[0])
        return lines.joined(separator: "\n")
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        let padded = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
        var line = padded.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return line
    }
}

/// Says on standard error how far a command is; on a terminal only, so that scripts' logs stay clean.
struct ProgressBar {
    private static let width = 30
    private let isTerminal = isatty(FileHandle.standardError.fileDescriptor) == 1

    func show(_ step: String, _ fraction: Double) {
        guard isTerminal else { return }
        let filled = Int(Double(Self.width) * min(max(fraction, 0), 1))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.width - filled)
        write("\r[\(bar)] \(step)\u{1B}[K")
    }

    func end() {
        if isTerminal { write("\r\u{1B}[K") }
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}

/// Why a command failed, in words for people.
struct CommandError: Error {
    let message: String
    let exitStatus: Int32
    /// Whether the gateway may have done what it was asked for all the same.
    let isUnanswered: Bool

    init(_ message: String, exitStatus: Int32 = 1, isUnanswered: Bool = false) {
        self.message = message
        self.exitStatus = exitStatus
        self.isUnanswered = isUnanswered
    }
}

extension CommandError {
    /// A file that a command was to read, with the reason.
    static func unreadable(_ path: String, exitStatus: Int32 = 1) -> CommandError {
        var isFolder: ObjCBool = false
        let isThere = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        let reason =
            if !isThere {
                "there is no such file"
            } else if isFolder.boolValue {
                "it is a folder"
            } else {
                "this user may not read it, or it is no text"
            }
        return CommandError("\(path) cannot be read: \(reason).", exitStatus: exitStatus)
    }
}

/// How results are written: `--output`.
enum OutputStyle: String, ExpressibleByArgument, CaseIterable {
    case text
    case json
}
