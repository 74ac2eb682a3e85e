// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct ProductStats: ODataStructure {
        public static let odataType = "ComplianceService.ProductStats"
        public var totalProducts: Int64?
        public var averagePrice: Double?
        public var maxPrice: Double?
        public var minPrice: Double?

        public init(totalProducts: Int64? = nil, averagePrice: Double? = nil, maxPrice: Double? = nil, minPrice: Double? = nil) {
            self.totalProducts = totalProducts
            self.averagePrice = averagePrice
            self.maxPrice = maxPrice
            self.minPrice = minPrice
        }

        public init(_ row: ODataRow) throws {
            self.totalProducts = try row.value("totalProducts")
            self.averagePrice = try row.value("averagePrice")
            self.maxPrice = try row.value("maxPrice")
            self.minPrice = try row.value("minPrice")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("totalProducts", self.totalProducts)
            row.set("averagePrice", self.averagePrice)
            row.set("maxPrice", self.maxPrice)
            row.set("minPrice", self.minPrice)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var totalProducts: ODataField<Int64> { .init(odataPath, "totalProducts") }
            public var averagePrice: ODataField<Double> { .init(odataPath, "averagePrice") }
            public var maxPrice: ODataField<Double> { .init(odataPath, "maxPrice") }
            public var minPrice: ODataField<Double> { .init(odataPath, "minPrice") }
        }
    }
}
