import AdapterKit
import Foundation
import Testing

@testable import WorkerHost

@Suite struct DeclaredOutputTests {
    private static let rows = Shape.list(
        of: .object(
            ObjectShape(
                "Row",
                members: [Member("name", .string, isRequired: true)]
                    + (1...10).map { Member(FieldName("number\($0)")!, .integer) })))

    private static func output(_ shape: Shape, document: String? = nil) -> DeclaredOutput {
        DeclaredOutput(
            Operation(
                "rows", summary: "Rows.", effect: .reads, output: shape, documentType: document))
    }

    private static func row(_ number: Int64) -> WireValue {
        var members: WireDictionary = ["name": "a name of some length"]
        for column in 1...10 { members["number\(column)"] = .int64(number) }
        return .dictionary(members)
    }

    @Test func `a member that is not of its shape is named by its path`() {
        let output = Self.output(Self.rows)
        #expect(
            output.problem(of: .value(.array([Self.row(1), ["name": "a", "number3": "three"]])))?.contains(
                "[1].number3") == true)
        #expect(output.problem(of: .value(.array([["number3": 3]])))?.contains("[0].name") == true)
        #expect(output.problem(of: .value(.array([["name": "a", "other": 3]])))?.contains("other") == true)
        #expect(output.problem(of: .value(.array([Self.row(1)]))) == nil)
        #expect(output.problem(of: .nothing) == nil)
    }

    @Test func `a document is of the declared type, and no value`() {
        let output = Self.output(.any, document: "application/xml")
        #expect(output.problem(of: OperationResult(.document([], mediaType: "Application/xml; charset=utf-8"))) == nil)
        #expect(output.problem(of: OperationResult(.document([], mediaType: "text/html"))) != nil)
        #expect(output.problem(of: .value("<a/>")) != nil)
        #expect(Self.output(Self.rows).problem(of: OperationResult(.document([], mediaType: "text/html"))) != nil)
    }
}
