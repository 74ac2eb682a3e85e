extension LiveFeed {
    /// Throws ``PorticoError`` where the feed names what is not there, or would tell somebody of a record that the row
    /// rules keep from them.
    public func check(in declaration: AdapterDeclaration) throws(PorticoError) {
        let groups = try entity(group.entity, of: declaration)
        try require(groups.rows.read == .sharedWith(group.members), "its groups are not read by their members alone")
        try require(Self.has(group.tells, groups), "it tells a field that its groups do not have")
        for source in sources {
            let entity = try entity(source.entity, of: declaration)
            try require(entity.field(source.group) != nil, "\(entity.name) has no field `\(source.group)`")
            try require(Self.has(source.tells, entity), "it tells a field that \(entity.name) does not have")
            let rule = RowRule.memberOf(group.entity, through: source.group, members: group.members)
            try require(
                entity.exposure == .adapterOnly || entity.rows.read == rule,
                "\(entity.name) is not read by the group's members alone")
        }
    }

    private static func has(_ fields: [FieldName], _ entity: Entity) -> Bool {
        fields.allSatisfy { entity.field($0) != nil }
    }

    private func entity(_ name: EntityName, of declaration: AdapterDeclaration) throws(PorticoError) -> Entity {
        guard let entity = declaration.entity(name) else { throw fault("there is no entity `\(name)`") }
        return entity
    }

    private func require(_ holds: Bool, _ reason: String) throws(PorticoError) {
        guard holds else { throw fault(reason) }
    }

    private func fault(_ reason: String) -> PorticoError {
        PorticoError(.serverInternal, "The declaration of the feed \(name) is wrong: \(reason).", target: name.text)
    }
}
