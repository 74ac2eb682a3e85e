import AdapterKit

/// Notes that people keep for themselves and share with others.
public enum NotesModule: AdapterModule {
    public static let name: AdapterName = "notes"

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Notes", summary: "One's own notes and those that others share.", version: "1.0.0",
            entities: [Note.entity], operations: [Share.operation])
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        NotesAdapter()
    }
}
