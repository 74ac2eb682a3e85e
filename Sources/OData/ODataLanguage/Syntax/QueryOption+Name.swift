extension QueryOption.Form {
    /// The option's name as it is written; nil for an application's own, which may come several times.
    public var name: String? {
        switch self {
        case .filter: "$filter"
        case .orderBy: "$orderby"
        case .select: "$select"
        case .expand: "$expand"
        case .compute: "$compute"
        case .search: "$search"
        case .apply: "$apply"
        case .top: "$top"
        case .skip: "$skip"
        case .index: "$index"
        case .count: "$count"
        case .levels: "$levels"
        case .format: "$format"
        case .skipToken: "$skiptoken"
        case .deltaToken: "$deltatoken"
        case .schemaVersion: "$schemaversion"
        case .id: "$id"
        case .alias(let name, _): "@\(name)"
        case .custom: nil
        }
    }
}
