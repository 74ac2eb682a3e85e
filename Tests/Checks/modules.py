"""Which modules a target has declared by its dependencies."""

# Products of other repositories whose module has another name.
_MODULES_OF_PRODUCT = {"GRDB.swift": ["GRDB"]}


class Modules:
    def __init__(self, repository):
        self.repository = repository
        self._own_products = {
            product: targets for package in repository.packages for product, targets in package.products.items()}

    def of_product(self, product):
        return self._own_products.get(product) or _MODULES_OF_PRODUCT.get(product, [product])

    def declared_by(self, target):
        """With what a declared module exports."""
        rows = self.repository.modules["modules"]
        of_products = (module for product in target.products for module in self.of_product(product))
        modules = {*target.targets, *of_products}
        return modules | {exported for name in modules for exported in rows.get(name, {}).get("exports", [])}

    def toolchain_of(self, target):
        """The modules of the toolchain that the target may import without a declaration."""
        table = self.repository.modules
        if target.is_test:
            return set(table["tests"])
        row = table["modules"].get(target.name, {})
        return set(table["toolchain"]) if row.get("toolchain", True) else set()
