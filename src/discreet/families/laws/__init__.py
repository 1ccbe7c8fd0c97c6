"""Laws that several families share: calculus, densities and exact linear algebra."""
