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
