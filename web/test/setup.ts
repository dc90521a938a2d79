import { beforeAll } from "vitest";
import { readyZstd } from "../src/wire/index";

beforeAll(readyZstd);
