/// Annotations of an element of the model (CSDL 4.01, section 14): constant expressions as values, the rest
/// by kind only. Terms are named with their namespace, never by alias.
public struct Annotations: Sendable, Equatable {
    public struct Entry: Sendable, Equatable {
        public let term: String
        public let qualifier: String?
        public let value: AnnotationValue

        public init(term: String, qualifier: String? = nil, value: AnnotationValue) {
            self.term = term
            self.qualifier = qualifier
            self.value = value
        }
    }

    public var entries: [Entry]

    public init(_ entries: [Entry] = []) {
        self.entries = entries
    }

    /// The unqualified annotation of a term.
    public subscript(term: String) -> AnnotationValue? {
        entries.first { $0.term == term && $0.qualifier == nil }?.value
    }

    /// Whether a tagging term applies: it is there and not false.
    public func isTagged(_ term: String) -> Bool {
        guard let value = self[term] else { return false }
        return value != .bool(false)
    }
}

public indirect enum AnnotationValue: Sendable, Equatable {
    case bool(Bool)
    case int(Int64)
    /// Floats, decimals, dates and the like, as they are spelt.
    case number(String)
    case string(String)
    case enumMember(String)
    /// Any of the path expressions.
    case path(String)
    case collection([AnnotationValue])
    case record([Member])
    case null
    /// A dynamic expression, by its element's name.
    case expression(String)

    public struct Member: Sendable, Equatable {
        public let name: String
        public let value: AnnotationValue

        public init(_ name: String, _ value: AnnotationValue) {
            self.name = name
            self.value = value
        }
    }

    /// A member of a record; nil for anything else.
    public subscript(member: String) -> AnnotationValue? {
        guard case .record(let members) = self else { return nil }
        return members.first { $0.name == member }?.value
    }

    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }
}

/// Terms that Portico itself heeds.
public enum CoreTerm {
    public static let computed = "Org.OData.Core.V1.Computed"
    public static let immutable = "Org.OData.Core.V1.Immutable"
    public static let optimisticConcurrency = "Org.OData.Core.V1.OptimisticConcurrency"
    public static let optionalParameter = "Org.OData.Core.V1.OptionalParameter"
    public static let mediaType = "Org.OData.Core.V1.MediaType"
    public static let description = "Org.OData.Core.V1.Description"
    public static let alternateKeys = "Org.OData.Core.V1.AlternateKeys"
    public static let insertRestrictions = "Org.OData.Capabilities.V1.InsertRestrictions"
    public static let updateRestrictions = "Org.OData.Capabilities.V1.UpdateRestrictions"
    public static let deleteRestrictions = "Org.OData.Capabilities.V1.DeleteRestrictions"
    public static let searchRestrictions = "Org.OData.Capabilities.V1.SearchRestrictions"
    public static let filterRestrictions = "Org.OData.Capabilities.V1.FilterRestrictions"
    public static let sortRestrictions = "Org.OData.Capabilities.V1.SortRestrictions"
    public static let countRestrictions = "Org.OData.Capabilities.V1.CountRestrictions"
    public static let changeTracking = "Org.OData.Capabilities.V1.ChangeTracking"
}

/// Terms of the Aggregation vocabulary.
public enum AggregationTerm {
    public static let namespace = "Org.OData.Aggregation.V1"
    public static let applySupportedDefaults = "\(namespace).ApplySupportedDefaults"
    public static let recursiveHierarchy = "\(namespace).RecursiveHierarchy"
    public static let leveledHierarchy = "\(namespace).LeveledHierarchy"
}

/// Terms of SAP's vocabularies, and those of OASIS that say what SAP's attributes of version 2 say.
public enum SAPTerm {
    public static let label = "com.sap.vocabularies.Common.v1.Label"
    public static let heading = "com.sap.vocabularies.Common.v1.Heading"
    public static let quickInfo = "com.sap.vocabularies.Common.v1.QuickInfo"
    public static let text = "com.sap.vocabularies.Common.v1.Text"
    public static let hidden = "com.sap.vocabularies.UI.v1.Hidden"
    public static let unit = "Org.OData.Measures.V1.Unit"
    public static let currency = "Org.OData.Measures.V1.ISOCurrency"

    /// Where a vocabulary is published, by its namespace: documents refer to those that they use.
    static let vocabularies = [
        "Org.OData.Core.V1": "https://oasis-tcs.github.io/odata-vocabularies/vocabularies/Org.OData.Core.V1.xml",
        "Org.OData.Capabilities.V1":
            "https://oasis-tcs.github.io/odata-vocabularies/vocabularies/Org.OData.Capabilities.V1.xml",
        "Org.OData.Measures.V1":
            "https://oasis-tcs.github.io/odata-vocabularies/vocabularies/Org.OData.Measures.V1.xml",
        "com.sap.vocabularies.Common.v1": "https://sap.github.io/odata-vocabularies/vocabularies/Common.xml",
        "com.sap.vocabularies.UI.v1": "https://sap.github.io/odata-vocabularies/vocabularies/UI.xml",
    ]
}
