// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct Dimensions: ODataStructure {
        public static let odataType = "ComplianceService.Dimensions"
        public var length: Double?
        public var width: Double?
        public var height: Double?
        public var unit: String?

        public init(length: Double? = nil, width: Double? = nil, height: Double? = nil, unit: String? = nil) {
            self.length = length
            self.width = width
            self.height = height
            self.unit = unit
        }

        public init(_ row: ODataRow) throws {
            self.length = try row.value("Length")
            self.width = try row.value("Width")
            self.height = try row.value("Height")
            self.unit = try row.value("Unit")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("Length", self.length)
            row.set("Width", self.width)
            row.set("Height", self.height)
            row.set("Unit", self.unit)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var length: ODataField<Double> { .init(odataPath, "Length") }
            public var width: ODataField<Double> { .init(odataPath, "Width") }
            public var height: ODataField<Double> { .init(odataPath, "Height") }
            public var unit: ODataField<String> { .init(odataPath, "Unit") }
        }
    }
}
