// What nearly every file here includes, parsed once.
#pragma once

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <boost/context/fiber.hpp>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
