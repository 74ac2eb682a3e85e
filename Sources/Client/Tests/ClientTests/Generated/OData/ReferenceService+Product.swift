// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct Product: ODataEntity {
        public static let odataType = "ComplianceService.Product"
        public static let odataKeys: [String] = ["ID"]
        public var odata = ODataControl()
        public var id: UUID?
        public var name: String?
        public var description: String?
        public var price: Double?
        public var rating: UInt8?
        public var temperature: Int8?
        public var quantity: Int16?
        public var weight: Float?
        public var data: Data?
        public var releaseDate: ODataDate?
        public var openTime: ODataTimeOfDay?
        public var shippingTime: Duration?
        public var processingTime: Duration?
        public var offset: Duration?
        public var categoryID: UUID?
        public var status: ProductStatus?
        public var version: Int32?
        public var createdAt: ODataDateTime?
        public var serialNumber: String?
        public var productType: String?
        public var shippingAddress: Address?
        public var dimensions: Dimensions?
        public var category: Category? {
            get { oneCategory.first }
            set { oneCategory = newValue.map { [$0] } ?? [] }
        }
        public var descriptions: [ProductDescription]?
        public var relatedProducts: [Product]?
        private var oneCategory: [Category] = []

        public init(id: UUID? = nil, name: String? = nil, description: String? = nil, price: Double? = nil, rating: UInt8? = nil, temperature: Int8? = nil, quantity: Int16? = nil, weight: Float? = nil, data: Data? = nil, releaseDate: ODataDate? = nil, openTime: ODataTimeOfDay? = nil, shippingTime: Duration? = nil, processingTime: Duration? = nil, offset: Duration? = nil, categoryID: UUID? = nil, status: ProductStatus? = nil, version: Int32? = nil, createdAt: ODataDateTime? = nil, serialNumber: String? = nil, productType: String? = nil, shippingAddress: Address? = nil, dimensions: Dimensions? = nil, category: Category? = nil, descriptions: [ProductDescription]? = nil, relatedProducts: [Product]? = nil) {
            self.id = id
            self.name = name
            self.description = description
            self.price = price
            self.rating = rating
            self.temperature = temperature
            self.quantity = quantity
            self.weight = weight
            self.data = data
            self.releaseDate = releaseDate
            self.openTime = openTime
            self.shippingTime = shippingTime
            self.processingTime = processingTime
            self.offset = offset
            self.categoryID = categoryID
            self.status = status
            self.version = version
            self.createdAt = createdAt
            self.serialNumber = serialNumber
            self.productType = productType
            self.shippingAddress = shippingAddress
            self.dimensions = dimensions
            self.category = category
            self.descriptions = descriptions
            self.relatedProducts = relatedProducts
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.id = try row.value("ID")
            self.name = try row.value("Name")
            self.description = try row.value("Description")
            self.price = try row.value("Price")
            self.rating = try row.value("Rating")
            self.temperature = try row.value("Temperature")
            self.quantity = try row.value("Quantity")
            self.weight = try row.value("Weight")
            self.data = try row.value("Data")
            self.releaseDate = try row.value("ReleaseDate")
            self.openTime = try row.value("OpenTime")
            self.shippingTime = try row.value("ShippingTime")
            self.processingTime = try row.value("ProcessingTime")
            self.offset = try row.value("Offset")
            self.categoryID = try row.value("CategoryID")
            self.status = try row.value("Status")
            self.version = try row.value("Version")
            self.createdAt = try row.value("CreatedAt")
            self.serialNumber = try row.value("SerialNumber")
            self.productType = try row.value("ProductType")
            self.shippingAddress = try row.structure("ShippingAddress")
            self.dimensions = try row.structure("Dimensions")
            self.category = try row.structure("Category")
            self.descriptions = try row.structures("Descriptions")
            self.relatedProducts = try row.structures("RelatedProducts")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("ID", self.id)
            row.set("Name", self.name)
            row.set("Description", self.description)
            row.set("Price", self.price)
            row.set("Rating", self.rating)
            row.set("Temperature", self.temperature)
            row.set("Quantity", self.quantity)
            row.set("Weight", self.weight)
            row.set("Data", self.data)
            row.set("ReleaseDate", self.releaseDate)
            row.set("OpenTime", self.openTime)
            row.set("ShippingTime", self.shippingTime)
            row.set("ProcessingTime", self.processingTime)
            row.set("Offset", self.offset)
            row.set("CategoryID", self.categoryID)
            row.set("Status", self.status)
            row.set("Version", self.version)
            row.set("CreatedAt", self.createdAt)
            row.set("SerialNumber", self.serialNumber)
            row.set("ProductType", self.productType)
            row.set("ShippingAddress", self.shippingAddress)
            row.set("Dimensions", self.dimensions)
            row.link("Category", self.category)
            row.link("Descriptions", self.descriptions)
            row.link("RelatedProducts", self.relatedProducts)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var id: ODataField<UUID> { .init(odataPath, "ID") }
            public var name: ODataField<String> { .init(odataPath, "Name") }
            public var description: ODataField<String> { .init(odataPath, "Description") }
            public var price: ODataField<Double> { .init(odataPath, "Price") }
            public var rating: ODataField<UInt8> { .init(odataPath, "Rating") }
            public var temperature: ODataField<Int8> { .init(odataPath, "Temperature") }
            public var quantity: ODataField<Int16> { .init(odataPath, "Quantity") }
            public var weight: ODataField<Float> { .init(odataPath, "Weight") }
            public var data: ODataField<Data> { .init(odataPath, "Data") }
            public var releaseDate: ODataField<ODataDate> { .init(odataPath, "ReleaseDate") }
            public var openTime: ODataField<ODataTimeOfDay> { .init(odataPath, "OpenTime") }
            public var shippingTime: ODataField<Duration> { .init(odataPath, "ShippingTime") }
            public var processingTime: ODataField<Duration> { .init(odataPath, "ProcessingTime") }
            public var offset: ODataField<Duration> { .init(odataPath, "Offset") }
            public var categoryID: ODataField<UUID> { .init(odataPath, "CategoryID") }
            public var status: ODataField<ProductStatus> { .init(odataPath, "Status") }
            public var version: ODataField<Int32> { .init(odataPath, "Version") }
            public var createdAt: ODataField<ODataDateTime> { .init(odataPath, "CreatedAt") }
            public var serialNumber: ODataField<String> { .init(odataPath, "SerialNumber") }
            public var productType: ODataField<String> { .init(odataPath, "ProductType") }
            public var shippingAddress: ODataLink<Address> { .init(odataPath, "ShippingAddress") }
            public var dimensions: ODataLink<Dimensions> { .init(odataPath, "Dimensions") }
            public var category: ODataLink<Category> { .init(odataPath, "Category") }
            public var descriptions: ODataLinks<ProductDescription> { .init(odataPath, "Descriptions") }
            public var relatedProducts: ODataLinks<Product> { .init(odataPath, "RelatedProducts") }
        }
    }
}
