import { expect, test } from "vitest";
import { Succession } from "../../src/render/succession";

test("a keyframe stays beside the one that takes its place until nothing gives way any more", () => {
  const recycled: number[] = [];
  const keyframes = new Succession<{ id: number }>(({ id }) => recycled.push(id));
  keyframes.follow({ id: 3 });
  keyframes.follow({ id: 5 });
  expect([keyframes.shown?.id, keyframes.find(3)?.id, keyframes.find(4), recycled]).toEqual([5, 3, null, []]);
  keyframes.settle();
  expect([keyframes.shown?.id, keyframes.find(3), recycled]).toEqual([5, null, [3]]);
  keyframes.follow({ id: 6 });
  keyframes.follow({ id: 7 });
  expect(recycled).toEqual([3, 5]);
  keyframes.release();
  expect([keyframes.shown, recycled]).toEqual([null, [3, 5, 6, 7]]);
});
