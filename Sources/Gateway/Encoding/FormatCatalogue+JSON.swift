import WireFormats

extension FormatCatalogue {
    /// For documents that are JSON by their own specification.
    var json: any WireFormat { self[.json] ?? JSONFormat() }
}
