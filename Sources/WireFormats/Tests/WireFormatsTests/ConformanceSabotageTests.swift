import AdapterKit
import Testing
import WireFormatTesting
import WireFormats

/// JSON with one fault.
private struct BrokenFormat: WireFormat {
    enum Fault: CaseIterable {
        case realsBecomeIntegers, signOfZeroIsLost, keysAreSorted, equalKeysAreMerged, depthIsNotLimited,
            valuesAreNotLimited, bytesAreNotLimited, errorsHaveNoPlace, truncatedIsAccepted, largeIntegersAreRounded
    }

    let fault: Fault?
    private let base = JSONFormat()

    init(_ fault: Fault?) { self.fault = fault }

    var name: FormatName { base.name }
    var mediaTypesRead: [MediaType] { base.mediaTypesRead }
    var mediaTypeWritten: MediaType { base.mediaTypeWritten }
    var traits: FormatTraits { base.traits }

    func readTape(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape {
        var limits = limits
        switch fault {
        case .equalKeysAreMerged: limits.duplicateKeys = .keepLast
        case .depthIsNotLimited: limits.depth = ReadingLimits.maximumDepth
        case .valuesAreNotLimited: limits.values = .max
        case .bytesAreNotLimited: limits.expandedBytes = .max
        default: break
        }
        do throws(WireFormatError) { return try base.readTape(input, limits: limits) } catch {
            if fault == .truncatedIsAccepted { return try base.readTape(Array("null".utf8), limits: limits) }
            throw fault == .errorsHaveNoPlace ? WireFormatError(error.kind, error.message) : error
        }
    }

    func read(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> WireValue {
        changed(try readTape(input, limits: limits).value())
    }

    func write(_ value: WireValue, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError) {
        try base.write(fault == .keysAreSorted ? sorted(value) : value, options: options, to: &output)
    }

    func write(_ tape: Tape, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError) {
        try base.write(tape, options: options, to: &output)
    }

    func makeStreamWriter(options: WritingOptions) -> any StreamWriter { base.makeStreamWriter(options: options) }

    private func changed(_ value: WireValue) -> WireValue {
        switch (value, fault) {
        case (.double(let number), .realsBecomeIntegers): Int64(exactly: number).map { .int64($0) } ?? value
        case (.double(let number), .signOfZeroIsLost) where number == 0: .double(0)
        case (.int64(let number), .largeIntegersAreRounded):
            .int64(Int64(exactly: Double(number)) ?? number)
        case (.uint64(let number), .largeIntegersAreRounded): .double(Double(number))
        case (.array(let items), _): .array(items.map(changed))
        case (.dictionary(let members), _):
            .dictionary(
                WireDictionary(
                    uncheckedUniqueKeys: members.entries.map { .init(key: $0.key, value: changed($0.value)) }))
        default: value
        }
    }

    private func sorted(_ value: WireValue) -> WireValue {
        switch value {
        case .array(let items): .array(items.map(sorted))
        case .dictionary(let members):
            .dictionary(
                WireDictionary(
                    uncheckedUniqueKeys: members.entries.map { .init(key: $0.key, value: sorted($0.value)) }
                        .sorted { $0.key < $1.key }))
        default: value
        }
    }
}

@Suite struct ConformanceSabotageTests {
    private func failures(_ format: BrokenFormat) -> [String] {
        WireFormatConformance(format, count: 100).checks.compactMap { check in
            do {
                try check.run()
                return nil
            } catch { return check.name }
        }
    }

    @Test func `a whole format passes the checks`() {
        #expect(failures(BrokenFormat(nil)).isEmpty)
    }

    @Test(arguments: BrokenFormat.Fault.allCases)
    fileprivate func `a format with one fault fails a check`(fault: BrokenFormat.Fault) {
        #expect(!failures(BrokenFormat(fault)).isEmpty)
    }
}
