import AdapterKit
import AdapterTesting
import Testing

/// The suite is tried on adapters that break one rule each: a rule that nothing can break checks nothing.
@Suite struct `The conformance suite` {
    private let example = AdapterConformance.Example("price", ["id": "tea"])

    private func problems(
        of module: any AdapterModule.Type, examples: [AdapterConformance.Example]? = nil
    ) async -> [String] {
        await AdapterConformance(module, examples: examples ?? [example]).problems()
    }

    @Test func `finds nothing in an adapter that keeps every rule`() async {
        #expect(await problems(of: Shop.self) == [])
    }

    @Test func `finds an operation without example and an example without operation`() async {
        #expect(await problems(of: Shop.self, examples: []) == ["there is no example of price"])
        #expect(
            await problems(of: Shop.self, examples: [example, .init("gone")]) == [
                "there is an example of gone, which is not declared"
            ])
    }

    @Test func `finds an example that is refused`() async {
        let found = await problems(of: Shop.self, examples: [.init("price", ["id": "coffee"])])
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("price does not answer its example") == true)
    }

    @Test(
        arguments: [
            (.answersText, "answers what it does not declare"),
            (.throwsOddly, "throws what is not in the registry"),
            (.changes, "reads, but changes records"),
            (.varies, "answers differently the second time"),
            (.answersAnything, "answers an operation that it does not declare"),
            (.samplesMisfit, "a sample does not fit"),
            (.samplesTwice, "two samples of goods have the key tea"),
            (.listsNowhere, "does not begin with /"),
            (.settlesVaryingly, "settles a conflict of goods differently the second time"),
            (.settlesStrangely, "settles a conflict by what does not fit"),
            (.settlesOddly, "settling throws what is not in the registry"),
        ] as [(Fault, String)])
    func `finds a fault in how an adapter runs`(fault: Fault, problem: String) async {
        await Fault.$current.withValue(fault) {
            let found = await problems(of: FaultyShop.self)
            #expect(found.contains { $0.contains(problem) }, "\(found)")
        }
    }

    @Test(
        arguments: [
            (.otherName, "declares itself as other"),
            (.keyless, "the key names `code`, which is no field"),
            (.badDefault, "the default of the field price of goods is not of its shape"),
            (.unknownIndex, "an index names `colour`, which is no field"),
            (.searchesNumbers, "`price` is used by search and must be a text"),
            (.ruleWithoutField, "a row rule names `owner`, which is no field"),
            (.strangeMembers, "takes goods.title for a list of names"),
            (.datedText, "the server gives `title` a value of another shape"),
            (.requiredNowhere, "the member id of the operation price is required and cannot be given"),
            (.writesByGet, "writes, so its method cannot be GET"),
            (.keepsWrites, "writes, so its answers cannot be kept"),
            (.operatorsByPath, "is for operators, so it has no path of its own"),
            (.sameRoute, "the adapter has two routes GET /prices/{}"),
            (.sameTypeName, "two shapes have the name Price"),
            (.unsummarized, "the summary of the entity goods is empty (entities.goods)"),
            (.manyRoles, "asks for one of more than 16 roles (access)"),
        ] as [(Contradiction, String)])
    func `finds a contradiction in a declaration`(contradiction: Contradiction, problem: String) async {
        await Contradiction.$current.withValue(contradiction) {
            let found = await problems(of: ContradictoryShop.self)
            #expect(found.contains { $0.contains(problem) }, "\(found)")
        }
    }
}
