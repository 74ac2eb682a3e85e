/// Finds where a value ends without reading it, and knows which containers are open within it.
protocol NestedExtent {
    /// - Parameter origin: where the value begins in the whole document.
    init(from origin: Int)
    /// The length of the value that stands at `start`; nil where more bytes are needed.
    mutating func length(_ bytes: [UInt8], from start: Int, isAtEnd: Bool) -> Int?
    /// Goes on as the scan of the container at `origin`, with what was scanned of it already. False where no container is
    /// open that begins there.
    mutating func resume(at origin: Int) -> Bool
}

/// Where the containers begin that a scan is in.
struct OpenContainers {
    /// In the whole document, the outermost first.
    private var starts: [Int] = []
    /// How many of them are around the value.
    private var outer = 0

    /// How many are open within the value, itself included.
    var depth: Int { starts.count - outer }

    mutating func open(at start: Int) { starts.append(start) }

    mutating func close() {
        if depth > 0 { starts.removeLast() }
    }

    /// Makes the container that begins there the value.
    mutating func enter(at start: Int) -> Bool {
        var (low, high) = (outer, starts.count)
        while low < high {
            let middle = low + (high - low) / 2
            if starts[middle] < start { low = middle + 1 } else { high = middle }
        }
        guard low < starts.count, starts[low] == start else { return false }
        outer = low
        return true
    }
}

extension StreamedPieces {
    /// The length of the value at hand; nil for a container that is longer than a piece. A value that must be taken as a
    /// whole is read up to the limit of the stream.
    ///
    /// - Parameter earlier: the last scan of a container that was longer than a piece. Containers within it that it found
    ///   open are not scanned from their beginnings again, so nesting does not multiply the work.
    mutating func extent<Extent: NestedExtent>(isWhole: Bool, _ earlier: inout Extent?) throws -> Int? {
        var extent: Extent
        if earlier?.resume(at: window.offset) == true, let resumed = earlier {
            earlier = nil
            extent = resumed
        } else {
            extent = Extent(from: window.offset)
        }
        while true {
            if let length = extent.length(window.bytes, from: window.position, isAtEnd: window.isAtEnd) {
                return isWhole || length <= pieceBytes ? length : nil
            }
            guard isWhole || window.available < pieceBytes else {
                earlier = extent
                return nil
            }
            try window.fill(to: window.available + 1)
        }
    }
}
