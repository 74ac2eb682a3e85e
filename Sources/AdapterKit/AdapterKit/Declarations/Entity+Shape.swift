extension Entity {
    /// A record as an object: the fields as members, in declared order.
    public var recordShape: ObjectShape {
        ObjectShape(
            name.text,
            members: fields.map { field in
                Member(
                    field.name, field.shape, isRequired: field.isRequired, isNullable: field.isNullable,
                    defaultValue: field.defaultValue, summary: field.summary)
            })
    }
}
