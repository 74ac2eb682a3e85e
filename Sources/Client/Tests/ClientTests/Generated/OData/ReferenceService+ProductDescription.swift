// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct ProductDescription: ODataEntity {
        public static let odataType = "ComplianceService.ProductDescription"
        public static let odataKeys: [String] = ["ProductID", "LanguageKey"]
        public var odata = ODataControl()
        public var productID: UUID?
        public var languageKey: String?
        public var description: String?
        public var longText: String?
        public var customName: String?
        public var product: Product? {
            get { oneProduct.first }
            set { oneProduct = newValue.map { [$0] } ?? [] }
        }
        private var oneProduct: [Product] = []

        public init(productID: UUID? = nil, languageKey: String? = nil, description: String? = nil, longText: String? = nil, customName: String? = nil, product: Product? = nil) {
            self.productID = productID
            self.languageKey = languageKey
            self.description = description
            self.longText = longText
            self.customName = customName
            self.product = product
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.productID = try row.value("ProductID")
            self.languageKey = try row.value("LanguageKey")
            self.description = try row.value("Description")
            self.longText = try row.value("LongText")
            self.customName = try row.value("CustomName")
            self.product = try row.structure("Product")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("ProductID", self.productID)
            row.set("LanguageKey", self.languageKey)
            row.set("Description", self.description)
            row.set("LongText", self.longText)
            row.set("CustomName", self.customName)
            row.link("Product", self.product)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var productID: ODataField<UUID> { .init(odataPath, "ProductID") }
            public var languageKey: ODataField<String> { .init(odataPath, "LanguageKey") }
            public var description: ODataField<String> { .init(odataPath, "Description") }
            public var longText: ODataField<String> { .init(odataPath, "LongText") }
            public var customName: ODataField<String> { .init(odataPath, "CustomName") }
            public var product: ODataLink<Product> { .init(odataPath, "Product") }
        }
    }
}
