import AdapterKit
import WireFormats

// The conformance checks of values: what each kind of value is in a format, and what a format refuses to carry.
extension WireFormatConformance {
    /// One check for each kind of value.
    var valueChecks: [ConformanceCheck] {
        [
            check("integers are exact over all 64 bits", integersAreExact),
            check("reals keep their kind and their bits", realsKeepTheirBits),
            check("numbers that are not finite are carried or refused", nonFiniteNumbers),
            check("larger numbers are carried digit by digit, as text, or refused", decimals),
            check("text keeps every character or is refused", textIsKept),
            check("keys compare by bytes and keep their order", keysAreBytes),
            check("equal keys are refused, or the last one wins", equalKeys),
            check("empty and one-element containers are distinct", containersAreDistinct),
            check("null is carried, refused, or left out by option", nulls),
            check("dates keep their instant or are refused", dates),
            check("data is carried, or written as base64", data),
            check("a uid is carried or refused", uids),
            check("it reads what it is labelled with", labels),
        ]
    }

    /// A stream of pieces does not notice them, which makes a document with equal keys in any format.
    private func equalKeys() throws {
        let writer = format.makeStreamWriter(options: WritingOptions())
        try writer.begin(.dictionary)
        for (key, flag) in [("a", true), ("b", true), ("a", false)] {
            try writer.key(key)
            try writer.write(.bool(flag))
        }
        try writer.end()
        try writer.finish()
        let document = writer.drain()
        try requireError([.duplicateKey], "equal keys") { _ = try format.read(document) }
        try requireError([.duplicateKey], "equal keys, tape") {
            _ = try format.readTape(document, limits: ReadingLimits())
        }
        let limits = ReadingLimits(duplicateKeys: .keepLast)
        try require(
            try format.read(document, limits: limits) == ["a": false, "b": true], "the last value does not win")
        let dropped = try format.readTape(document, limits: limits).droppedDuplicates
        try require(dropped == 1, "\(dropped) dropped members are reported instead of 1")
    }

    private func integersAreExact() throws {
        for shift in 0..<64 {
            for offset in [-1, 0, 1] as [Int64] {
                let number = (Int64(1) << shift) &+ offset
                try requireRoundTrip([.int64(number), .int64(0 &- number)])
            }
        }
        try requireRoundTrip([.uint64(.max), .uint64(1 << 63), .int64(.min), .int64((1 << 53) + 1)])
    }

    private func realsKeepTheirBits() throws {
        for number in [1, -0.0, 0, 0.1, 1e22, 1e23, 5e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude] as [Double]
        {
            try requireRoundTrip([.double(number), .double(-number)])
        }
    }

    private func nonFiniteNumbers() throws {
        for number in [Double.infinity, -.infinity, .nan] {
            try requireCarried(.double(number), format.traits.nonFinite)
        }
    }

    private func decimals() throws {
        for text in ["0.1234567890123456789012", "1234567890123456.7", "-1.00000000000000001", "1234567890123456789.5"]
        {
            try requireCarried(.decimal(WireDecimal(text)!), format.traits.decimal != .none)
        }
        for text in ["18446744073709551616", "-9223372036854775809"] {
            let number = WireValue.decimal(WireDecimal(text)!)
            try requireCarried(number, format.traits.decimal == .exact)
            guard format.traits.decimal == .text else { continue }
            let bytes = try format.write(number, options: WritingOptions(largeIntegers: .text))
            try require(try format.read(bytes) == .string(text), "\(text) does not come back as text")
        }
    }

    private func textIsKept() throws {
        for text in ["", " ", "\t\r\n", "é", "e\u{301}", "😀", "\u{10FFFF}", "]]>&<>\"'", "$null", "\u{7F}\u{85}"] {
            try requireRoundTrip(["a": .string(text), text: 1])
        }
        for text in ["\0", "a\u{1}b", "\u{1B}", "\u{FFFE}", "\u{FFFF}"] {
            try requireCarried(.string(text), format.traits.allScalars)
            try requireCarried([text: 1], format.traits.allScalars)
        }
    }

    private func keysAreBytes() throws {
        try requireRoundTrip(["z": 1, "\u{e9}": 2, "e\u{301}": 3, "a": 4, "": 5, "A": 6])
    }

    private func containersAreDistinct() throws {
        for value in [[], [:], [[]], [[:]], [1], ["a": []], ["a": [:]], ["a": [1]], ["a": [[1]]], ["item": [1]]]
            as [WireValue]
        {
            try requireRoundTrip(value)
        }
    }

    private func nulls() throws {
        try requireCarried(.null, format.traits.null)
        try requireCarried(["a": .null], format.traits.null)
        let options = WritingOptions(nulls: .omitMember)
        let bytes = try format.write(["a": .null, "b": 1], options: options)
        let expected: WireValue = format.traits.null ? ["a": .null, "b": 1] : ["b": 1]
        try require(try format.read(bytes) == expected, "null with omitMember reads as something else")
        guard !format.traits.null else { return }
        try requireError([.notRepresentable], "null in an array") { _ = try format.write([.null], options: options) }
    }

    private func dates() throws {
        try requireRoundTrip([.date(WireDate(secondsSinceReferenceDate: 0)), .date(WireDate(secondsSince1970: -1))])
        let fraction = WireDate(secondsSinceReferenceDate: 0.123)
        try requireCarried(.date(fraction), format.traits.date != .wholeSeconds)
        // Apple's `distantPast`, and instants that no double is.
        try requireRoundTrip([.date(WireDate(rfc3339: "0000-12-30T00:00:00Z")!)])
        let isExact = format.traits.date == .exact || format.traits.date == .text
        for text in [
            "2026-06-24T12:57:44.7570874Z", "9999-12-31T23:59:59.999999Z", "0000-01-01T00:00:00.0000001Z",
            "2026-06-24T12:57:44.757087412345678901Z",
        ] {
            guard let instant = WireDate(rfc3339: text) else { continue }
            try requireCarried(.date(instant), isExact)
        }
        try requireError([.notRepresentable], "a date that is not finite") {
            _ = try format.write([.date(WireDate(secondsSinceReferenceDate: .infinity))])
        }
        guard format.traits.date == .wholeSeconds else { return }
        let bytes = try format.write([.date(fraction)], options: WritingOptions(dateFractions: .truncate))
        try require(
            try format.read(bytes) == [.date(WireDate(secondsSinceReferenceDate: 0))], "a truncated fraction is not 0")
    }

    private func data() throws {
        for count in 0..<20 { try requireRoundTrip([.data((0..<count).map { UInt8($0 * 13 & 255) })]) }
    }

    private func uids() throws {
        for number in [0, 255, 256, 1 << 32, .max] as [UInt64] { try requireCarried(.uid(number), format.traits.uid) }
    }

    private func labels() throws {
        let catalogue = FormatCatalogue([format])
        let bytes = try format.write(["a": 1])
        for type in format.mediaTypesRead + [format.mediaTypeWritten] {
            try require(
                catalogue.format(reading: type, body: bytes)?.name == format.name,
                "\(type) is not found as \(format.name)")
        }
    }

    private func requireCarried(_ value: WireValue, _ isCarried: Bool) throws {
        if isCarried { return try requireRoundTrip(value) }
        try requireError([.notRepresentable], "\(value)") { _ = try format.write(value) }
        try requireError([.notRepresentable], "[\(value)]") { _ = try format.write([value]) }
    }
}
