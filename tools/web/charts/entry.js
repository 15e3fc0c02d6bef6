export * as Plot from "@observablehq/plot";
