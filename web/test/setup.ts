import { beforeAll } from "vitest";
import { readyUnpacking } from "../src/volume/index";
import { readyZstd } from "../src/wire/index";

beforeAll(readyZstd);
beforeAll(readyUnpacking);
