// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct ProductStatus: ODataEnumeration {
        public static let odataType = "ComplianceService.ProductStatus"
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let none = ProductStatus(rawValue: "None")
        public static let inStock = ProductStatus(rawValue: "InStock")
        public static let onSale = ProductStatus(rawValue: "OnSale")
        public static let discontinued = ProductStatus(rawValue: "Discontinued")
        public static let featured = ProductStatus(rawValue: "Featured")
    }
}
