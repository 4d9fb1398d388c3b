import assert from "node:assert/strict";
import { test } from "node:test";

import { faultOf, host } from "./answers.js";
import { ehr } from "../src/adapter.js";

test("it says who it is", () => {
  const { requests } = host(() => ({ status: 500 }));
  assert.equal(ehr.describe().name, "ADAPTER");
  assert.equal(faultOf(() => ehr.pull("patients", null, 10)).tag, "unsupported");
  assert.deepEqual(requests, []);
});
