import ValueTree

/// Columns of equal width under their names.
struct Table {
    let columns: [String]
    let rows: [WireValue]

    var text: String {
        let cells = [columns.map { $0.uppercased() }] + rows.map { row in columns.map { row[$0]?.word ?? "" } }
        let widths = columns.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        return cells.map { line($0, widths) }.joined(separator: "\n")
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        let padded = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
        var line = padded.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return line
    }
}
