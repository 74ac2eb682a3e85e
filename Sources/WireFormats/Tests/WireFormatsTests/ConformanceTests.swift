import Testing
import WireFormatTesting
import WireFormats

private let formats = FormatCatalogue.standard.formats

@Suite struct ConformanceTests {
    @Test(arguments: formats.flatMap { WireFormatConformance($0).checks })
    func `every format of the catalogue conforms`(check: ConformanceCheck) throws {
        try check.run()
    }

    @Test(arguments: formats.flatMap { first in formats.map { TranscodingConformance(first, $0).check(seed: 1) } })
    func `values survive transcoding between every pair of formats`(check: ConformanceCheck) throws {
        try check.run()
    }
}
