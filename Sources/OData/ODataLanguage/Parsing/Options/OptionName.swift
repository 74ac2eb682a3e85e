/// The system query options by the names that they have in URLs, without `$` and in lower case.
enum OptionName: String, CaseIterable {
    case apply, compute, count, deltatoken, expand, filter, format, id, index, levels, orderby, schemaversion, search
    case select, skip, skiptoken, top
}

/// Where options stand, which decides which of them may.
enum OptionContext {
    case top
    case metadata
    case entity
    case entityCast
    case ofExpand
    case ofExpandedReference
    case ofCount
    case ofSelect

    func allows(_ name: OptionName) -> Bool {
        switch self {
        case .top: name != .levels
        case .metadata: name == .format || name == .schemaversion
        case .entity: [.format, .id].contains(name)
        case .entityCast: [.format, .id, .expand, .select].contains(name)
        case .ofCount: [.filter, .search].contains(name)
        case .ofExpandedReference: [.filter, .search, .orderby, .skip, .top, .count].contains(name)
        case .ofSelect: [.filter, .search, .orderby, .skip, .top, .count, .compute, .select, .expand].contains(name)
        case .ofExpand:
            [.filter, .search, .orderby, .skip, .top, .count, .compute, .select, .expand, .levels, .apply]
                .contains(name)
        }
    }

    /// Whether `@alias=value` may stand there.
    var allowsAliases: Bool { self == .top || self == .ofExpand || self == .ofSelect }
    /// Whether the application's own options may.
    var allowsCustom: Bool {
        switch self {
        case .top, .metadata, .entity, .entityCast: true
        default: false
        }
    }
}
