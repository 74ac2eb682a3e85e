/// Finds where in a document a token of its tape came from. Tapes do not keep that, as only an error asks for it.
enum TokenLocation {
    /// Where the token is that an error of writing the tape names.
    ///
    /// Has the document read once more with room for just the tokens before: the reader stops at the one that is asked
    /// for and says where. A key or a container's end counts as the value next to it.
    static func place(
        _ error: WireFormatError, in tape: Tape, _ limits: ReadingLimits,
        read: (ReadingLimits) throws(WireFormatError) -> Tape
    ) -> WireFormatError.Position? {
        guard let token = error.token, tape.tokens.indices.contains(token) else { return error.position }
        let value = tape.tokens[token].kind == .end ? token - 1 : token
        var limits = limits
        limits.values = tape.origins.isEmpty ? value : tape.origins[value]
        do throws(WireFormatError) {
            _ = try read(limits)
            return nil
        } catch { return error.position }
    }
}
