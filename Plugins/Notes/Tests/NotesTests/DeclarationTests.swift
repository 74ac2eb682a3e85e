import AdapterKit
import Notes
import Testing

@Test func `A note has the fields that clients rely on, in this order`() throws {
    #expect(
        try Declared.notes().fields.map(\.name.text)
            == ["id", "title", "text", "owner", "sharedWith", "modified", "attachments"])
}

@Test func `The caller may choose a note's id, the server gives owner and time`() throws {
    let notes = try Declared.notes()
    #expect(notes.key == EntityKey("id", chosenBy: .either))
    #expect(notes.field("owner")?.source == .creator)
    #expect(notes.field("modified")?.source == .modifiedAt)
}

@Test func `Every list of a note has an end`() throws {
    let notes = try Declared.notes()
    #expect(notes.field("sharedWith")?.maximumCount == 100)
    #expect(notes.field("attachments")?.maximumCount == 20)
}

@Test func `Every field that the entity names elsewhere is declared`() throws {
    let notes = try Declared.notes()
    let named = [notes.key.field] + notes.indexes.flatMap(\.fields) + notes.searchFields
    #expect(named.allSatisfy { notes.field($0) != nil })
}

@Test func `The module declares one entity and one operation, for those who are logged in`() throws {
    let declaration = try Declared.adapter()
    #expect(declaration.name == NotesModule.name)
    #expect(declaration.access.reading == .login)
    #expect(declaration.entities.map { declaration.writers(of: $0) } == [.login])
    #expect(declaration.entities.map(\.name) == ["notes"])
    #expect(declaration.operations.map(\.name) == ["share"])
}

@Test func `Sharing is a write that may be repeated`() throws {
    let share = try #require(Declared.adapter().operation("share"))
    #expect(share.effect == .writes && share.isIdempotent)
}
